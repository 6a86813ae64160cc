# Compiler and linker set-up: quick to rebuild, hardened by default.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
                    # g++ 12 sees overlaps in std::string's own code when it optimises (GCC bug 105651).
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> -fno-omit-frame-pointer)
# Sources name no path of the machine that built them.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_link_options(-Wl,-z,relro,-z,now)
# There are no shared libraries here. As library code (-fPIC) every call could be replaced at run time, so that g++ inlines
# next to nothing across functions; as code of a program it may.
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  # -O2: most code runs on cold caches between two waits, where the larger code of -O3 cost 10 % on small requests.
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
  set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
  add_compile_options(-fPIE -fno-plt)
  add_link_options(-pie)
endif()
if(CREDBROKER_SANITIZE)
  add_compile_options(-fsanitize=${CREDBROKER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CREDBROKER_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # also an index or an optional that no sanitizer can see is wrong
  # clang 14's check of function pointers breaks coroutines: their parts lack the mark that it looks for.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 sees uninitialised members in moved variants that the sanitizers' own branches hide from its analysis.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
else()
  add_compile_options(-fstack-protector-strong $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
endif()
