include(CheckPIESupported)
check_pie_supported()

# module(<name> DIR folder USES ...): a folder is a static library, and USES are the only ones it
# may use. A folder's main.c belongs to the program, not to the library.
function(module name)
  cmake_parse_arguments(M "" "DIR" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${M_DIR}/*.c)
  list(FILTER sources EXCLUDE REGEX "/main\\.c$")
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PRIVATE build_flags PUBLIC ${M_USES})
endfunction()

# program(<name> main.c [STATIC] USES ...): with STATIC it starts without the dynamic linker, which
# costs more than a short run itself; so it may need libc alone, and of that no name service.
# HOSTDEV_STATIC makes all programs so. The sanitizers are for dynamic programs only.
function(program name main)
  cmake_parse_arguments(P "STATIC" "" "USES" ${ARGN})
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE build_flags ${P_USES})
  if((P_STATIC OR HOSTDEV_STATIC) AND NOT HOSTDEV_ASAN AND NOT HOSTDEV_FUZZ)
    # CMake knows no static-pie: its own -pie would win.
    set_property(TARGET ${name} PROPERTY POSITION_INDEPENDENT_CODE)
    target_compile_options(${name} PRIVATE -fPIE)
    target_compile_definitions(${name} PRIVATE $<$<BOOL:${HOSTDEV_STATIC}>:HOSTDEV_STATIC>)
    target_link_options(${name} PRIVATE -static-pie)
  endif()
endfunction()

# failpoint_program(<name> [STATIC] USES ... SOURCES main.c ...): the program <name> with failpoints (lib/base/failpoint.h), below
# failpoints/; SOURCES are all that have some, and are linked in place of the modules' own. The target `failpoints` is all such
# programs.
function(failpoint_program name)
  if(NOT TARGET failpoints)
    add_custom_target(failpoints)
  endif()
  cmake_parse_arguments(P "STATIC" "" "USES;SOURCES" ${ARGN})
  set(target ${name}-failpoints)
  set(static "")
  if(P_STATIC)
    set(static STATIC)
  endif()
  program(${target} lib/base/failpoint.c ${static} USES ${P_USES})
  target_sources(${target} PRIVATE ${P_SOURCES})
  target_compile_definitions(${target} PRIVATE HOSTDEV_FAILPOINTS)
  set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/failpoints)
  add_dependencies(failpoints ${target})
endfunction()

# unit_tests(<area> USES ...): every tests/unit/<area>/test_*.c is one cmocka program, linked with
# that area's module and what it declares, and nothing else; with the fakes if it includes one. A
# test that needs no state has nothing to say about it.
add_library(unit_flags INTERFACE)
target_compile_options(unit_flags INTERFACE -Wno-unused-parameter)
function(unit_tests area)
  cmake_parse_arguments(T "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/unit/${area}/test_*.c)
  foreach(source ${sources})
    get_filename_component(stem ${source} NAME_WE)
    set(target ${stem}_in_${area})
    add_executable(${target} ${source})
    file(STRINGS ${source} fakes REGEX "^#include \"fake/fake_")
    target_link_libraries(${target} PRIVATE build_flags unit_flags $<$<BOOL:${fakes}>:fake_kube>
                          ${T_USES} cmocka)
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
    # Calls of the engine go through tests/fake/fake_reconcile.c.
    file(STRINGS ${source} lives REGEX "^#include \"unit/kube/random_life.h")
    if(lives)
      foreach(call reconcile_new reconcile_free reconcile_changed reconcile_acted reconcile_failed events_record)
        target_link_options(${target} PRIVATE -Wl,--wrap=${call})
      endforeach()
    endif()
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
    add_test(NAME ${area}/${stem} COMMAND ${target} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${area}/${stem} PROPERTIES LABELS unit TIMEOUT 240
      ENVIRONMENT "ASAN_OPTIONS=strict_string_checks=1:detect_stack_use_after_return=1")
  endforeach()
endfunction()

# longest_unit_tests(<test>...): in this order before all others, so that none is left alone at the end.
function(longest_unit_tests)
  list(LENGTH ARGN cost)
  foreach(test ${ARGN})
    set_tests_properties(${test} PROPERTIES COST ${cost})
    math(EXPR cost "${cost} - 1")
  endforeach()
endfunction()

# fakes(<name> USES ...): every tests/fake/fake_*.c stands in for something of the modules it uses.
# Linked before them, so that what it defines is not taken from them.
function(fakes name)
  cmake_parse_arguments(F "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fake/fake_*.c)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PRIVATE build_flags PUBLIC ${F_USES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/tests)
endfunction()

# fuzz_targets(<area> USES ...): every tests/fuzz/<area>/fuzz_*.c is one libFuzzer program. The target `fuzzers` is all
# of them, and what the preset fuzz builds.
function(fuzz_targets area)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  cmake_parse_arguments(F "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/${area}/fuzz_*.c)
  foreach(source ${sources})
    get_filename_component(stem ${source} NAME_WE)
    add_executable(${stem} ${source})
    target_link_libraries(${stem} PRIVATE build_flags ${F_USES})
    target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers ${stem})
  endforeach()
endfunction()
