# The root file system of the client's image, made of this build; the Dockerfile and the compose files as texts. Building
# and running the images is script/container-check.
find_program(VITRINE_SYSTEM_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
add_test(NAME container_test COMMAND ${VITRINE_SYSTEM_PYTHON} -m unittest -v container_test
         WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
set_property(TEST container_test PROPERTY ENVIRONMENT
             "VITRINE_BUILD=${CMAKE_BINARY_DIR}" "VITRINE_LIBTORCH=${LIBTORCH_SITE}" PYTHONDONTWRITEBYTECODE=1)
