# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)
# Writes OUTPUT, a header with a digest of files. LIST names the files, one per line, relative to SOURCE. Indentation,
# empty lines and lines with only a comment are ignored, so that a change of comments does not change the digest.
file(STRINGS ${LIST} names)
set(lines "")
foreach(name IN LISTS names)
  file(READ ${SOURCE}/${name} text)
  string(REGEX REPLACE "[ \t\r]*\n[ \t\r\n]*" "\n" text "\n${text}")
  string(REGEX REPLACE "\n//[^\n]*" "" text "${text}")
  string(SHA256 digest "${text}")
  string(APPEND lines "${digest}  ${name}\n")
endforeach()
string(SHA256 digest "${lines}")
file(WRITE ${OUTPUT} "#define VITRINE_PROGRAM_DIGEST \"${digest}\"\n")
