# build_flags: what our own code is compiled and linked with. Generated code does not use it.
add_library(build_flags INTERFACE)

set(COMMON_WARNINGS
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wredundant-decls -Wundef -Wformat=2 -Wcast-qual -Wpointer-arith
    -Wwrite-strings -Wswitch-enum -Wnull-dereference -Walloca -Wvla -Wdouble-promotion -Wdate-time
    -fno-common)
set(GCC_WARNINGS
    -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wcast-align=strict -Wjump-misses-init
    -Wformat-signedness -Wtrampolines -Wimplicit-fallthrough=5 -Wstack-usage=16384)
set(CLANG_WARNINGS
    -Wcomma -Wshorten-64-to-32 -Wunreachable-code-aggressive -Wconditional-uninitialized
    -Wmissing-variable-declarations -Wimplicit-fallthrough)

target_compile_options(build_flags INTERFACE ${COMMON_WARNINGS}
  $<$<C_COMPILER_ID:GNU>:${GCC_WARNINGS}>
  $<$<C_COMPILER_ID:Clang>:${CLANG_WARNINGS}>
  $<$<BOOL:${HOSTDEV_WERROR}>:-Werror>
  -include ${CMAKE_SOURCE_DIR}/lib/base/banned.h)
if(NOT HOSTDEV_VERSION)
  set(HOSTDEV_VERSION ${PROJECT_VERSION})
endif()
target_compile_definitions(build_flags INTERFACE _GNU_SOURCE HOSTDEV_VERSION="${HOSTDEV_VERSION}")
target_include_directories(build_flags INTERFACE ${CMAKE_SOURCE_DIR}/lib ${CMAKE_SOURCE_DIR})

if(HOSTDEV_HARDEN)
  # Where the tree and its build lie is in nothing that ships: clean builds anywhere give the same
  # bytes. Of two that match gcc takes the last.
  add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=build)
  if(CMAKE_SYSROOT)
    add_compile_options(-ffile-prefix-map=${CMAKE_SYSROOT}=)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
    set(BRANCH_PROTECTION -mbranch-protection=standard)
  else()
    set(BRANCH_PROTECTION -fcf-protection=full)
  endif()
  target_compile_options(build_flags INTERFACE
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fstack-clash-protection
    ${BRANCH_PROTECTION} -fno-strict-aliasing -fno-delete-null-pointer-checks
    $<$<C_COMPILER_ID:GNU>:-ftrivial-auto-var-init=zero>
    $<$<C_COMPILER_ID:Clang>:-ftrivial-auto-var-init=pattern>)
  target_link_options(build_flags INTERFACE
    -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code -Wl,--as-needed)
endif()

if(HOSTDEV_ASAN)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

if(HOSTDEV_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
