// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_STANDARD_FILES_H_
#define VITRINE_SERVER_PROCESS_STANDARD_FILES_H_

namespace vitrine {

// Opens /dev/null for each of stdin, stdout and stderr that the parent has closed. Otherwise the next files and
// connections get their numbers, and the log is written into a client's connection. In a program that calls it, it
// already runs before the initializers of libraries, some of which open files; the call itself then does nothing.
void KeepStandardFiles();

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_STANDARD_FILES_H_
