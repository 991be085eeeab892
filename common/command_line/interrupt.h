// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_
#define VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_

#include <atomic>

namespace vitrine {

// SIGINT (Ctrl-C) and SIGTERM for commands that finish the work in hand and report before they exit. Other commands are
// ended by the signal itself. The exit status in a shell is the same: 130 after Ctrl-C, 143 after SIGTERM.

// Makes the first of these signals only set Interrupted(); the second ends the process. Two within 0.3 s count as one,
// since some senders, such as timeout(1), signal a process and then its group.
void EndInOrder();

// Records a signal, for a command with its own handlers. Async-signal-safe.
void NoteInterrupt(int signal);

// Interrupted returns true if a signal arrived; InterruptedFlag returns the flag for polling. Any thread.
bool Interrupted();
const std::atomic<bool>* InterruptedFlag();

// Returns the exit code of a command ended by a signal: 128 + signal number. Requires Interrupted().
int InterruptedExitCode();

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_INTERRUPT_H_
