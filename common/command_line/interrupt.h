// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_
#define VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_

#include <atomic>

namespace vitrine {

// Handling of SIGINT (Ctrl-C) and SIGTERM, for commands that finish their current work and report before they exit.
// Commands without these handlers are ended by the signal. In both cases the exit status in a shell is 130 after Ctrl-C
// and 143 after SIGTERM.

// Installs handlers: the first of these signals sets Interrupted(), the second ends the process. Two signals within 0.3
// s count as one, because some senders, such as timeout(1), signal a process and then its group.
void EndInOrder();

// Records a signal, for commands with their own handlers. Async-signal-safe.
void NoteInterrupt(int signal);

// Interrupted returns true if a signal arrived; InterruptedFlag returns the flag for polling. Any thread may call them.
bool Interrupted();
const std::atomic<bool>* InterruptedFlag();

// Returns the exit code of a command ended by a signal: 128 + signal number. Requires Interrupted().
int InterruptedExitCode();

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_
