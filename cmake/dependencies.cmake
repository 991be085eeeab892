# SPDX-License-Identifier: Apache-2.0
# All libraries that Vitrine links, as imported targets. docs/contributing/dependencies.md gives the reason for each
# library.
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)

set(VITRINE_DEPENDENCIES "$ENV{VITRINE_DEPENDENCIES}" CACHE PATH "folder that script/bootstrap fills")
if(NOT VITRINE_DEPENDENCIES)
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(VITRINE_DEPENDENCIES $ENV{XDG_CACHE_HOME}/vitrine CACHE PATH "" FORCE)
  else()
    set(VITRINE_DEPENDENCIES $ENV{HOME}/.cache/vitrine CACHE PATH "" FORCE)
  endif()
endif()
set(GOOGLEAPIS_PROTOS ${VITRINE_DEPENDENCIES}/googleapis-protos CACHE PATH "folder that holds google/rpc/*.proto")
if(NOT EXISTS ${GOOGLEAPIS_PROTOS}/google/rpc/error_details.proto)
  message(FATAL_ERROR "the googleapis protos are missing under ${VITRINE_DEPENDENCIES}; run script/bootstrap")
endif()

# The client library needs only the packages above.
if(VITRINE_CLIENT_ONLY)
  return()
endif()
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.81 REQUIRED)  # only its headers
find_package(Eigen3 3.4 CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(CURL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(SPNG REQUIRED IMPORTED_TARGET spng)
pkg_check_modules(WEBP REQUIRED IMPORTED_TARGET libwebp)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
find_library(UNISTRING unistring REQUIRED)
find_path(UNISTRING_INCLUDE uninorm.h REQUIRED)
find_path(BACKWARD_INCLUDE backward.hpp REQUIRED)
find_path(STB_INCLUDE stb/stb_truetype.h REQUIRED)
find_file(DEJAVU_SANS DejaVuSans.ttf PATHS /usr/share/fonts/truetype/dejavu REQUIRED)

set(OPENTELEMETRY_PROTO ${VITRINE_DEPENDENCIES}/opentelemetry-proto/opentelemetry/proto CACHE PATH "folder of the modules of opentelemetry-proto")
if(NOT EXISTS ${OPENTELEMETRY_PROTO}/trace/v1/trace_pb2.py)
  message(FATAL_ERROR "OpenTelemetry's messages are missing under ${VITRINE_DEPENDENCIES}; run script/bootstrap")
endif()
find_program(PYTHON python3 REQUIRED)

# Tests need two more packages, which `script/bootstrap serving` does not install.
find_package(GTest CONFIG QUIET)
pkg_check_modules(EXIF QUIET IMPORTED_TARGET libexif)
if(GTest_FOUND AND EXIF_FOUND)
  set(VITRINE_WITH_TESTS ON)
else()
  message(STATUS "There is no GoogleTest or no libexif; building without tests")
endif()

# LibTorch from the unpacked torch wheel, for training and the reference models. Without LibTorch, only the server,
# vitrine-repo, the client and their tests are built. As long as the file `mark` exists, script/build configures again
# at every call.
file(STRINGS ${CMAKE_SOURCE_DIR}/script/pins/libtorch.txt libtorch REGEX "^torch==")
string(REGEX REPLACE "^torch==([^ ]*).*" "\\1" libtorch "${libtorch}")
set(LIBTORCH_SITE ${VITRINE_DEPENDENCIES}/libtorch-${libtorch} CACHE PATH "folder that holds torch/ and nvidia/ of any LibTorch >= 2.6")
set(mark ${CMAKE_BINARY_DIR}/without-libtorch)
if(EXISTS ${LIBTORCH_SITE}/torch/lib/libtorch_cpu.so)
  set(VITRINE_WITH_LIBTORCH ON)
  file(REMOVE ${mark})
else()
  set(VITRINE_WITH_LIBTORCH OFF)
  file(TOUCH ${mark})
  return()
endif()
if(VITRINE_WITH_TESTS)
  find_package(Boost 1.81 REQUIRED COMPONENTS context)  # fibers of the CUDA emulator
endif()
# LibTorch's wheel contains Gloo without its headers.
find_path(GLOO_INCLUDE gloo/transport/device.h REQUIRED)

# LibTorch's CMake package is not used, because it requires a CUDA toolkit. LibTorch for CPUs needs only two libraries.
set(torch_lib ${LIBTORCH_SITE}/torch/lib)
set(cuda_lib ${LIBTORCH_SITE}/nvidia/cu13/lib)
add_library(c10 SHARED IMPORTED)
set_target_properties(c10 PROPERTIES IMPORTED_LOCATION ${torch_lib}/libc10.so)
add_library(torch_cpu SHARED IMPORTED)
set_target_properties(torch_cpu PROPERTIES IMPORTED_LOCATION ${torch_lib}/libtorch_cpu.so)
# LibTorch's headers include an old google/protobuf, so -idirafter makes the compiler search them last.
target_compile_options(torch_cpu INTERFACE
  "SHELL:-idirafter ${LIBTORCH_SITE}/torch/include"
  "SHELL:-idirafter ${LIBTORCH_SITE}/torch/include/torch/csrc/api/include")
# With this definition, ATen headers include only the operators that they need, instead of all 2,000 operators.
target_compile_definitions(torch_cpu INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(torch_cpu INTERFACE c10)
target_link_options(torch_cpu INTERFACE
  -Wl,--no-as-needed -Wl,-rpath-link,${cuda_lib} -Wl,-rpath,${torch_lib} -Wl,-rpath,${cuda_lib})
