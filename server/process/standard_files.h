// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_STANDARD_FILES_H_
#define VITRINE_SERVER_PROCESS_STANDARD_FILES_H_

namespace vitrine {

// Opens /dev/null for each of stdin, stdout and stderr that the parent process has closed. Otherwise a connection could
// get the descriptor number of stderr, and the log would be written into the connection. A program that calls this
// function also runs it before the initializers of its libraries, because some initializers open files. The call itself
// then has no effect.
void KeepStandardFiles();

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_STANDARD_FILES_H_
