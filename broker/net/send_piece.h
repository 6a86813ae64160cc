#pragma once

#include <cstddef>

#include "net/list.h"

namespace credbroker::net {

class Stream;

// What one stream has written and the kernel has not seen: a piece of the loop's send buffer. Private to the room.
struct SendPiece : ListNode {
  explicit SendPiece(Stream* of) : stream(of) {}
  Stream* const stream;
  std::size_t begin = 0, size = 0;  // linked while size > 0
};

}  // namespace credbroker::net
