# SPDX-License-Identifier: Apache-2.0
# Installs the C++ client for other projects: cmake --install build --prefix DIR --component client.
# docs/how-to/command-line.md describes how to use the installed client; client_package_test builds an example with it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package ${CMAKE_BINARY_DIR}/package)
set(package_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/vitrine)

# An archive of the client library with the messages and services that it uses.
add_library(client_package STATIC
  $<TARGET_OBJECTS:client_library> $<TARGET_OBJECTS:vitrine_services> $<TARGET_OBJECTS:vitrine_proto>)
set_target_properties(client_package PROPERTIES
  OUTPUT_NAME vitrine_client EXPORT_NAME client LINKER_LANGUAGE CXX ARCHIVE_OUTPUT_DIRECTORY ${package})
target_compile_features(client_package INTERFACE cxx_std_20)
target_link_libraries(client_package INTERFACE
  gRPC::grpc++ protobuf::libprotobuf OpenSSL::Crypto ${client_library_absl})

# A header such as "client/lib/client.h" is installed as <vitrine/client.h>.
foreach(header common/request_size client/lib/client client/lib/numbers client/lib/retry)
  set(source ${CMAKE_SOURCE_DIR}/${header}.h)
  get_filename_component(name ${header} NAME)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(REGEX REPLACE "#include \"(common|client/lib)/" "#include \"vitrine/" text "${text}")
  file(WRITE ${package}/include/vitrine/${name}.h "${text}")
endforeach()
foreach(message attention classifier features manifest model registry serving)
  list(APPEND package_messages ${CMAKE_BINARY_DIR}/gen/vitrine/v1/${message}.pb.h)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/vitrineConfig.cmake.in ${package}/vitrineConfig.cmake
  INSTALL_DESTINATION ${package_cmake})
# Before version 1.0, a new minor version may change the interface.
write_basic_package_version_file(${package}/vitrineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
list(TRANSFORM client_library_absl REPLACE "absl::" "absl_" OUTPUT_VARIABLE package_requires)
list(JOIN package_requires " " package_requires)
file(RELATIVE_PATH package_root /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/vitrine-client.pc.in ${package}/vitrine-client.pc @ONLY)

install(TARGETS client_package EXPORT vitrine
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT client
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT vitrine NAMESPACE vitrine:: FILE vitrineTargets.cmake DESTINATION ${package_cmake} COMPONENT client)
install(DIRECTORY ${package}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT client)
install(FILES ${package_messages} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vitrine/v1 COMPONENT client)
install(FILES ${package}/vitrineConfig.cmake ${package}/vitrineConfigVersion.cmake
  DESTINATION ${package_cmake} COMPONENT client)
install(FILES ${package}/vitrine-client.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT client)
