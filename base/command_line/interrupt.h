// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_COMMAND_LINE_INTERRUPT_H_
#define VITRINE_BASE_COMMAND_LINE_INTERRUPT_H_

#include <atomic>

namespace vitrine {

// Ctrl-C (SIGINT) and SIGTERM for commands that end in order: finish what is in hand, say what there is. The others end
// by the signal itself. A shell shows both alike: 130 after Ctrl-C, 143 after SIGTERM.

// From now on the first of these signals only makes Interrupted() true; the second ends the process by itself. Two
// within 0.3 s count as one, since some senders, timeout(1) for one, signal a process and then its group.
void EndInOrder();

// For a command with handlers of its own. Async-signal-safe.
void NoteInterrupt(int signal);

// Whether a signal came, for those who ask and for those who are given a flag. Any thread.
bool Interrupted();
const std::atomic<bool>* InterruptedFlag();

// The exit code of a command that a signal ended: 128 + its number. Requires Interrupted().
int InterruptedExitCode();

}  // namespace vitrine

#endif  // VITRINE_BASE_COMMAND_LINE_INTERRUPT_H_
