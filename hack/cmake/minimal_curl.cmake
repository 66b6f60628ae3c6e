# curl as a static library with HTTP(S)/2 over GnuTLS only; see hack/minimal-curl.
execute_process(COMMAND ${CMAKE_SOURCE_DIR}/hack/minimal-curl
                OUTPUT_VARIABLE minimal_curl OUTPUT_STRIP_TRAILING_WHITESPACE
                COMMAND_ERROR_IS_FATAL ANY)
pkg_check_modules(gnutls_pc REQUIRED IMPORTED_TARGET GLOBAL gnutls)
pkg_check_modules(nghttp2_pc REQUIRED IMPORTED_TARGET GLOBAL libnghttp2)
add_library(curl INTERFACE)
target_include_directories(curl SYSTEM INTERFACE ${minimal_curl}/include)
target_compile_definitions(curl INTERFACE CURL_STATICLIB)
target_link_libraries(curl INTERFACE ${minimal_curl}/lib/libcurl.a PkgConfig::gnutls_pc
                                     PkgConfig::nghttp2_pc nettle)
