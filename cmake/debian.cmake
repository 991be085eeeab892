# SPDX-License-Identifier: Apache-2.0
# Debian packages, one for each component; script/package makes them. The packages depend on libraries of the Debian
# release on which they are built, so Debian's security updates apply. dpkg-shlibdeps finds these libraries.
set(debian ${CMAKE_SOURCE_DIR}/deploy/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL vitrine-server vitrine-client vitrine-models)
set(CPACK_PACKAGE_NAME vitrine)
# Name and address in the packages. This is not a cache variable, because a build folder would keep its first value.
set(VITRINE_MAINTAINER "Vitrine maintainers <maintainers@vitrine.invalid>")
set(CPACK_PACKAGE_CONTACT "${VITRINE_MAINTAINER}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(STRINGS /etc/os-release release REGEX "^VERSION_ID=")
string(REGEX REPLACE "[^0-9.]" "" release "${release}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1~deb${release})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# vitrine_package(NAME DESCRIPTION...): describes the component NAME; the first line is its title.
function(vitrine_package name)
  string(TOUPPER ${name} component)
  string(JOIN "\n" description ${ARGN})
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${description}" PARENT_SCOPE)
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/${name} RENAME copyright COMPONENT ${name})
endfunction()

# Licences of the libraries and fonts that are compiled into the programs and are not shared libraries.
foreach(compiled fonts-dejavu-core libcli11-dev libeigen3-dev libstb-dev nlohmann-json3-dev)
  foreach(name vitrine-server vitrine-client)
    install(FILES /usr/share/doc/${compiled}/copyright DESTINATION share/doc/${name} RENAME copyright.${compiled}
            COMPONENT ${name})
  endforeach()
endforeach()
install(FILES /usr/share/doc/libbackward-cpp-dev/copyright DESTINATION share/doc/vitrine-server
        RENAME copyright.libbackward-cpp-dev COMPONENT vitrine-server)

vitrine_package(vitrine-server "Server of tiny vision transformers"
  "Answers with classes, attention maps and features over gRPC and HTTP, and"
  "batches images of every size without padding. Contains the service vitrine and vitrine-repo,"
  "which imports, verifies and publishes models.")
vitrine_package(vitrine-client "Command line of Vitrine"
  "Classifies, embeds and evaluates images by a vitrine-server, measures it under load"
  "and administers its models.")
vitrine_package(vitrine-models "Small models for Vitrine"
  "Models of ten classes each, trained on MNIST and CIFAR-10, to try a server with.")

set(CPACK_DEBIAN_VITRINE-SERVER_PACKAGE_RECOMMENDS "ca-certificates, vitrine-client")
set(CPACK_DEBIAN_VITRINE-MODELS_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_VITRINE-MODELS_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_VITRINE-MODELS_PACKAGE_ENHANCES vitrine-server)
set(CPACK_DEBIAN_VITRINE-SERVER_PACKAGE_CONTROL_EXTRA
  ${debian}/conffiles ${debian}/postinst ${debian}/prerm ${debian}/postrm)

set(units lib/systemd/system)
install(FILES ${debian}/server.toml DESTINATION /etc/vitrine COMPONENT vitrine-server)
install(FILES deploy/systemd/vitrine.service DESTINATION ${units} COMPONENT vitrine-server)
install(DIRECTORY deploy/systemd/vitrine.service.d DESTINATION ${units} COMPONENT vitrine-server)
if(VITRINE_CUDA)
  install(TARGETS vitrine_cuda_library LIBRARY DESTINATION lib COMPONENT vitrine-server)
  install(FILES deploy/systemd/vitrine@.service DESTINATION ${units} COMPONENT vitrine-server)
  install(DIRECTORY deploy/systemd/vitrine.service.d/ DESTINATION ${units}/vitrine@.service.d COMPONENT vitrine-server)
endif()
install(DIRECTORY models/bundled/ DESTINATION share/vitrine/models COMPONENT vitrine-models)

# With these scripts, the bytes of a package depend only on its files, not on the date or the file system.
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian_times.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian_normalize.cmake)
include(CPack)
