#include "reveal/secret_reveal.h"
