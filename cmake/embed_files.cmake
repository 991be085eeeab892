# SPDX-License-Identifier: Apache-2.0
# embed_files(LIBRARY FOLDER): adds a static library with the contents of the page's files in FOLDER and their table
# EmbeddedPage() (server/wire/http/embedded_page.h). If a file is new or has changed, the build embeds the files again.
function(embed_files library folder)
  file(GLOB names RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.css ${folder}/*.js ${folder}/*.svg)
  set(blocks "")
  set(symbols "")
  set(rows "")
  set(files "")
  set(number 0)
  foreach(name ${names})
    set(file ${folder}/${name})
    list(APPEND files ${file})
    string(APPEND blocks "    \"embedded_${number}: .incbin \\\"${file}\\\"\\n\"\n"
                         "    \"embedded_${number}_end: .byte 0\\n\"\n")
    string(APPEND symbols "extern \"C\" __attribute__((visibility(\"hidden\"))) const char embedded_${number}[], "
                          "embedded_${number}_end[];\n")
    string(APPEND rows "      {\"${name}\", {embedded_${number}, embedded_${number}_end}},\n")
    math(EXPR number "${number} + 1")
  endforeach()
  set(source ${CMAKE_BINARY_DIR}/gen/${library}.cc)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "server/wire/http/embedded_page.h"

asm(".pushsection .rodata\n"
@blocks@    ".popsection\n");
@symbols@
namespace vitrine {

const std::vector<EmbeddedFile>& EmbeddedPage() {
  static const auto* const files = new std::vector<EmbeddedFile>{
@rows@  };
  return *files;
}

}  // namespace vitrine
]])
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS "${files}")
  add_library(${library} STATIC ${source})
  # In depend mode, ccache does not track files that .incbin reads, and would return an object with the old files.
  set_target_properties(${library} PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()
