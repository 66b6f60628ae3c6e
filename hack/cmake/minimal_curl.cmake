# curl as a static library with HTTP(S)/2 over GnuTLS only, and GnuTLS as one without PKCS#11 and IDN;
# see hack/minimal-curl and hack/minimal-gnutls. What else would load Debian's GnuTLS is static, too.

# minimal(<name> <package>): the folder that hack/minimal-<name> prints; its library is of that Debian package.
function(minimal name package)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/hack/minimal-${name} ${HOSTDEV_ARCH}
                  OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE
                  COMMAND_ERROR_IS_FATAL ANY)
  set(minimal_${name} ${folder} PARENT_SCOPE)
  # For hack/release: the installed package can have another version than the source that was built.
  configure_file(${folder}/version ${CMAKE_BINARY_DIR}/built/${package} COPYONLY)
endfunction()

# archive(<name> <file> USES ...): what uses it is linked before it, and what it uses after it.
function(archive name file)
  cmake_parse_arguments(A "" "" "USES" ${ARGN})
  add_library(${name} STATIC IMPORTED)
  set_target_properties(${name} PROPERTIES IMPORTED_LOCATION ${file} INTERFACE_LINK_LIBRARIES "${A_USES}")
endfunction()

minimal(curl libcurl4-gnutls-dev)
minimal(gnutls libgnutls28-dev)
foreach(name hogweed nettle gmp microhttpd)
  find_library(STATIC_${name} lib${name}.a REQUIRED)
endforeach()

archive(gmp ${STATIC_gmp})
archive(nettle ${STATIC_nettle})
archive(hogweed ${STATIC_hogweed} USES nettle gmp)
archive(gnutls ${minimal_gnutls}/lib/libgnutls.a USES hogweed nettle gmp)
target_link_options(gnutls INTERFACE -Wl,--gc-sections)
archive(microhttpd ${STATIC_microhttpd} USES gnutls)
archive(curl ${minimal_curl}/lib/libcurl.a USES gnutls nghttp2)
target_include_directories(curl INTERFACE ${minimal_curl}/include)
target_compile_definitions(curl INTERFACE CURL_STATICLIB)
# Nor where the cache is; see flags.cmake.
target_compile_options(curl INTERFACE -ffile-prefix-map=${minimal_curl}=curl)
