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
if(CREDBROKER_SANITIZE)
  add_compile_options(-fsanitize=${CREDBROKER_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CREDBROKER_SANITIZE})
else()
  add_compile_options(-fstack-protector-strong $<$<CONFIG:Release,RelWithDebInfo>:-D_FORTIFY_SOURCE=2>)
endif()
