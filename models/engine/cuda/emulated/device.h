// SPDX-License-Identifier: Apache-2.0
// The functions of device/device.h on the emulated machine. Only device/device.h includes this file.
#ifndef VITRINE_MODELS_ENGINE_CUDA_EMULATED_DEVICE_H_
#define VITRINE_MODELS_ENGINE_CUDA_EMULATED_DEVICE_H_

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "models/engine/cuda/emulated/machine.h"

#define VITRINE_DEVICE inline
#define VITRINE_TABLE inline constexpr
#define VITRINE_UNROLL
#define VITRINE_UNROLL_BY(count)
#define VITRINE_KERNEL(name, Arguments) inline void name(const Arguments& arguments)
#define VITRINE_BOUNDED_KERNEL(name, Arguments, threads, blocks) VITRINE_KERNEL(name, Arguments)

namespace vitrine::cuda {

using emulated::Source;

// An index with the source location of its use.
struct Index {
  template <std::integral Integer>
  Index(Integer number, Source place = Source::Current()) : value(static_cast<int64_t>(number)), at(place) {}
  int64_t value;
  Source at;
};

// A pointer that checks every access.
template <class T, bool kIsShared>
class Checked {
 public:
  using Number = std::remove_const_t<T>;

  // An element of the memory. A conversion to a number reads it; an assignment writes it.
  class Element {
   public:
    Element(T* place, Source at) : place_(place), at_(at) {}
    Element(const Element&) = default;
    operator Number() const {
      emulated::Machine& machine = emulated::Machine::Current();
      machine.RequireAligned(place_, alignof(T), at_);
      machine.Read(place_, sizeof(T), kIsShared, at_);
      Number value;
      std::memcpy(&value, place_, sizeof(T));
      return value;
    }
    const Element& operator=(Number value) const {
      emulated::Machine& machine = emulated::Machine::Current();
      machine.RequireAligned(place_, alignof(T), at_);
      machine.Write(place_, sizeof(T), kIsShared, at_);
      std::memcpy(place_, &value, sizeof(T));
      return *this;
    }
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): a copy to itself is also a read and a write
    const Element& operator=(const Element& other) const { return *this = static_cast<Number>(other); }
    const Element& operator+=(Number value) const { return *this = static_cast<Number>(*this) + value; }

   private:
    T* place_;
    Source at_;
  };

  explicit Checked(T* data = nullptr) : data_(data) {}
  template <class Other>
  requires(std::is_same_v<T, const Other>) Checked(Checked<Other, kIsShared> other) : data_(other.data()) {}

  auto operator[](Index index) const {
    const Element element(data_ + index.value, index.at);
    if constexpr (std::is_const_v<T>) {
      return static_cast<Number>(element);
    } else {
      return element;
    }
  }
  Checked operator+(int64_t offset) const { return Checked(data_ + offset); }
  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  T* data() const { return data_; }

 private:
  T* data_;
};

template <class T>
using Global = Checked<T, false>;
template <class T>
using Shared = Checked<T, true>;

template <class To, class T, bool kIsShared>
Checked<To, kIsShared> ViewAs(Checked<T, kIsShared> memory) {
  return Checked<To, kIsShared>(reinterpret_cast<To*>(memory.data()));
}

inline int Thread() {
  return emulated::Machine::Current().thread();
}
inline int Threads() {
  return emulated::Machine::Current().threads();
}
inline int Block() {
  return emulated::Machine::Current().block();
}
inline int Blocks() {
  return emulated::Machine::Current().blocks();
}
inline void SyncBlock(Source at = Source::Current()) {
  emulated::Machine::Current().SyncBlock(at);
}
inline void SyncWarp(Source at = Source::Current()) {
  emulated::Machine::Current().SyncWarp(at);
}

template <class T>
T ShuffleXor(T value, int mask, Source at = Source::Current()) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  emulated::Machine& machine = emulated::Machine::Current();
  const auto lanes = machine.Exchange({std::bit_cast<uint32_t>(value)}, at);
  return std::bit_cast<T>(lanes[static_cast<size_t>(machine.thread() % 32 ^ mask)][0]);
}
template <class T>
T Shuffle(T value, int lane, Source at = Source::Current()) {
  static_assert(sizeof(T) == sizeof(uint32_t));
  const auto lanes = emulated::Machine::Current().Exchange({std::bit_cast<uint32_t>(value)}, at);
  return std::bit_cast<T>(lanes[static_cast<size_t>(lane % 32)][0]);
}

inline int Opaque(int number) {
  return number;
}

template <class T>
Shared<T> SharedMemory(int offset) {
  return Shared<T>(reinterpret_cast<T*>(emulated::Machine::Current().shared() + offset));
}

template <class T>
void CopyAsync(Shared<T> to, std::type_identity_t<Global<const T>> from, bool valid = true,
               Source at = Source::Current()) {
  emulated::Machine::Current().CopyAsync(to.data(), from.data(), valid, at);
}
template <class T>
void Prefetch(Global<const T> /*from*/) {}
inline void CommitCopies() {
  emulated::Machine::Current().CommitCopies();
}
template <int kLeft>
void WaitCopies(Source at = Source::Current()) {
  emulated::Machine::Current().WaitCopies(kLeft, at);
}

// Emulates LoadMatrices of device/device.h. From each of the four matrices, a lane reads only the two numbers that it
// receives.
template <class T>
void LoadMatricesAs(uint32_t (&to)[4], const T* row, bool transposed, Source at) {
  static_assert(sizeof(T) == sizeof(uint16_t));
  emulated::Machine& machine = emulated::Machine::Current();
  machine.RequireAligned(row, 16, at);
  const std::byte* const shared = machine.shared();
  const auto offset = static_cast<int32_t>(reinterpret_cast<const std::byte*>(row) - shared);
  const auto lanes = machine.Exchange({static_cast<uint32_t>(offset)}, at);
  const size_t lane = static_cast<size_t>(machine.thread()) % 32;
  const auto number = [&](size_t matrix, size_t from_row, size_t column) {
    const auto row_offset = static_cast<int32_t>(lanes[8 * matrix + from_row][0]);
    const auto* const place = reinterpret_cast<const uint16_t*>(shared + row_offset) + column;
    machine.Read(place, sizeof(uint16_t), /*is_shared=*/true, at);
    return static_cast<uint32_t>(*place);
  };
  for (size_t matrix = 0; matrix < 4; ++matrix) {
    const size_t at_row = lane / 4, pair = 2 * (lane % 4);
    to[matrix] = transposed ? number(matrix, pair, at_row) | number(matrix, pair + 1, at_row) << 16
                            : number(matrix, at_row, pair) | number(matrix, at_row, pair + 1) << 16;
  }
}
template <class T>
void LoadMatrices(uint32_t (&to)[4], Shared<T> row, Source at = Source::Current()) {
  LoadMatricesAs(to, row.data(), /*transposed=*/false, at);
}
template <class T>
void LoadMatricesTransposed(uint32_t (&to)[4], Shared<T> row, Source at = Source::Current()) {
  LoadMatricesAs(to, row.data(), /*transposed=*/true, at);
}

inline void MultiplyBf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Source at = Source::Current()) {
  emulated::Machine& machine = emulated::Machine::Current();
  const auto lanes = machine.Exchange({a[0], a[1], a[2], a[3], b[0], b[1]}, at);
  emulated::AddProductBf16(lanes, machine.thread() % 32, machine.options().rounding, machine.random(), d);
}
inline void MultiplyBytes(int32_t (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                          Source at = Source::Current()) {
  emulated::Machine& machine = emulated::Machine::Current();
  const auto lanes = machine.Exchange({a[0], a[1], a[2], a[3], b[0], b[1]}, at);
  emulated::AddProductBytes(lanes, machine.thread() % 32, d);
}

inline uint32_t BitsOf(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline float FloatOf(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t PackBf16(float low, float high) {
  const auto rounded = [](float value) {
    const uint32_t bits = BitsOf(value);
    return value != value ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  };
  return rounded(low) | rounded(high) << 16;
}
inline float Fma(float a, float b, float c) {
  emulated::Machine::Current().CountFma();
  return std::fma(a, b, c);
}
inline float MostOrNan(float a, float b) {
  return a != a || b != b ? std::numeric_limits<float>::quiet_NaN() : a > b ? a : b;
}
inline float Root(float value) {
  return std::sqrt(value);
}
inline float Round(float value) {
  return std::nearbyint(value);
}

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_EMULATED_DEVICE_H_
