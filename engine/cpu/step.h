// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_CPU_STEP_H_
#define VITRINE_ENGINE_CPU_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cpu/frame.h"

namespace vitrine::engine {

// One pass over rows: an operator of the program with what was folded into it and what follows while a tile is at hand.
// Immutable; Run may be called concurrently with different frames. Run takes no memory and no locks.
class Step {
 public:
  virtual ~Step() = default;
  virtual void Run(const Frame& frame) const = 0;
  // Floats of scratch that Run wants for this frame.
  virtual int64_t Scratch(const Frame& /*frame*/) const { return 0; }

  std::string name;  // of the operator in the program: "blocks.0.attention.qkv"
  // What it reads and writes, by buffer, for the arena.
  std::vector<int> reads;
  int writes = -1;  // -1: none
};

// A step that reads one matrix and writes another.
class OneToOne : public Step {
 public:
  OneToOne(Operand x, Operand y) : x_(x), y_(y) {
    reads = {x.buffer};
    writes = y.buffer;
  }

 protected:
  const Operand x_, y_;
};

}  // namespace vitrine::engine

#endif  // VITRINE_ENGINE_CPU_STEP_H_
