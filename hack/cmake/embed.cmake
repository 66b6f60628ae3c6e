# embed(<name> <folder> <file>...): the files as arrays of bytes in a header of the build tree, "embedded/NAME.h",
# for the module NAME: index.html is `index_html`. Run by itself (cmake -P) it writes that header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(text "#pragma once\n")
  foreach(file ${FILES})
    get_filename_component(array ${file} NAME)
    string(MAKE_C_IDENTIFIER ${array} array)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char ${array}[] = { ${bytes} };\n")
  endforeach()
  file(WRITE ${OUTPUT} "${text}")
  return()
endif()

set(EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(embed name folder)
  set(header ${CMAKE_BINARY_DIR}/generated/embedded/${name}.h)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/${folder}/ OUTPUT_VARIABLE files)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} "-DFILES=${files}" -P ${EMBED_SCRIPT}
    DEPENDS ${files} ${EMBED_SCRIPT} VERBATIM)
  target_sources(${name} PRIVATE ${header})
  target_include_directories(${name} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()
