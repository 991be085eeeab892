// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_KERNELS_CPU_WORKSPACE_H_
#define VITRINE_MODELS_KERNELS_CPU_WORKSPACE_H_

#include <cstdint>

#include "models/kernels/cpu/aligned_buffer.h"
#include "models/kernels/cpu/view.h"

namespace vitrine::cpu {

// The activations of one executor: memory allocated once when a model is loaded, handed out and taken back like a
// stack, so that the hot path neither allocates nor locks.
//
//   Workspace::Scope scope(workspace);                      // gives back in its destructor what is taken below
//   View<float> hidden = scope.Take<float>(rows, columns);
//
// Not thread-safe: one workspace per executor. Scopes end in the reverse order of their beginning.
class Workspace {
 public:
  explicit Workspace(int64_t bytes) : memory_(bytes) {}

  // Elements from a row to the next in a view that Take hands out: every row starts on a cache line, and never a
  // multiple of 512 bytes after the row before, which would put the rows of a tile into the same few sets of the first
  // cache.
  template <typename T>
  static constexpr int64_t Stride(int64_t columns) {
    const int64_t lines = (columns * static_cast<int64_t>(sizeof(T)) + kAlignment - 1) / kAlignment;
    return (lines + (lines % 8 == 0 ? 1 : 0)) * (kAlignment / static_cast<int64_t>(sizeof(T)));
  }
  // What Take<T>(rows, columns) uses up.
  template <typename T>
  static constexpr int64_t Bytes(int64_t rows, int64_t columns) {
    return rows * Stride<T>(columns) * static_cast<int64_t>(sizeof(T));
  }

  int64_t bytes() const { return memory_.bytes(); }

  class Scope {
   public:
    explicit Scope(Workspace& workspace) : workspace_(workspace), mark_(workspace.used_) {}
    ~Scope() { workspace_.used_ = mark_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    // Uninitialised; the data is aligned to kAlignment. Ends the process where the workspace is too small: its size is
    // computed from the same shapes, so that is a fault of the program, and going on would corrupt another's answer.
    template <typename T>
    View<T> Take(int64_t rows, int64_t columns) {
      return {reinterpret_cast<T*>(workspace_.TakeBytes(Bytes<T>(rows, columns))), rows, columns, Stride<T>(columns)};
    }

   private:
    Workspace& workspace_;
    const int64_t mark_;
  };

 private:
  std::byte* TakeBytes(int64_t bytes);

  AlignedBuffer memory_;
  int64_t used_ = 0;
};

}  // namespace vitrine::cpu

#endif  // VITRINE_MODELS_KERNELS_CPU_WORKSPACE_H_
