# Third-party libraries, all from Debian's packages; their headers count as SYSTEM.
find_package(PkgConfig REQUIRED)

# dependency(<name> <pkg-config module>)
function(dependency name module)
  pkg_check_modules(${name}_pc REQUIRED IMPORTED_TARGET GLOBAL ${module})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE PkgConfig::${name}_pc)
endfunction()

dependency(jansson jansson)
dependency(yaml yaml-0.1)
dependency(uv libuv)
dependency(microhttpd libmicrohttpd)
dependency(pci libpci)
dependency(cmocka cmocka)

if(HOSTDEV_MINIMAL_CURL)
  include(hack/cmake/minimal_curl.cmake)
else()
  dependency(curl libcurl)
endif()
