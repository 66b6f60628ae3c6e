# proto_library(<name> file.proto...): what protoc-c makes of the files of proto/, in the build tree
# only. Include it as "proto/FILE.pb-c.h". Not our code: no warning flags.
find_program(PROTOC_C protoc-c REQUIRED)

function(proto_library name)
  set(folder ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${folder})
  set(sources)
  foreach(file ${ARGN})
    string(REPLACE ".proto" ".pb-c" stem ${file})
    add_custom_command(OUTPUT ${folder}/${stem}.c ${folder}/${stem}.h
      COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR} --c_out=${folder} ${file}
      DEPENDS ${CMAKE_SOURCE_DIR}/${file} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)
    list(APPEND sources ${folder}/${stem}.c)
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC ${folder})
  target_link_libraries(${name} PUBLIC protobufc)
endfunction()
