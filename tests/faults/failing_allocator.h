// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_FAULTS_FAILING_ALLOCATOR_H_
#define VITRINE_TESTS_FAULTS_FAILING_ALLOCATOR_H_

#include <cstdint>

namespace vitrine::testing {

// A program that links this has an operator new that can be told to throw std::bad_alloc, once, on a thread that serves
// requests (executors and the threads of completion queues and of HTTP, told by their names). Allocations inside gRPC
// and LibTorch never fail: the one's own allocator aborts, the other makes errors of its own of it, which nobody can
// tell from others.

// Lets the n-th allocation from now on fail, n >= 1, over all of these threads.
void FailAllocation(int64_t n);
// None fails any more. Whether one has since FailAllocation.
bool StopFailing();

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_FAULTS_FAILING_ALLOCATOR_H_
