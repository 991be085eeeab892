// SPDX-License-Identifier: Apache-2.0
// Tests the emulator's matrix products: the layout of fragments as in the PTX manual, and the sums of each rounding
// model.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "common/simd/bf16.h"
#include "models/engine/cuda/device/device.h"

namespace vitrine::cuda {
namespace {

using emulated::Machine;
using emulated::RoundingModel;

uint16_t Bits(float value) {
  return static_cast<uint16_t>(cpu::ToBf16(value));
}

// Row and column of an element of a fragment. OfA, OfB and OfD return row and column of element i of a lane, as in
// "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k32" of the PTX manual.
struct Place {
  size_t row, column;
};
Place OfA(size_t lane, size_t i, size_t of_word) {
  const size_t words = of_word, g = lane / 4, t = lane % 4;
  return {i / words % 2 == 0 ? g : g + 8, t * words + i % words + (i >= 2 * words ? 4 * words : 0)};
}
Place OfB(size_t lane, size_t i, size_t of_word) {
  return {lane % 4 * of_word + i % of_word + (i >= of_word ? 4 * of_word : 0), lane / 4};
}
Place OfD(size_t lane, size_t i) {
  return {i < 2 ? lane / 4 : lane / 4 + 8, lane % 4 * 2 + i % 2};
}

// Returns d + a b for a [16, 16] and b [16, 8], computed with one mma. Each lane passes the numbers of b that belong to
// lane ^ `wrong`, so the result is right only if `wrong` is 0.
std::vector<float> Bf16Product(const std::vector<float>& a, const std::vector<float>& b, std::vector<float> d,
                               size_t wrong = 0) {
  Machine machine;
  const auto fault = machine.Launch({.kernel = "fragments"}, [&] {
    const auto lane = static_cast<size_t>(Lane());
    uint32_t left[4] = {}, right[2] = {};
    float sums[4];
    for (size_t i = 0; i < 8; ++i) {
      const Place place = OfA(lane, i, 2);
      left[i / 2] |= uint32_t{Bits(a[place.row * 16 + place.column])} << 16 * (i % 2);
    }
    for (size_t i = 0; i < 4; ++i) {
      const Place place = OfB(lane ^ wrong, i, 2);
      right[i / 2] |= uint32_t{Bits(b[place.row * 8 + place.column])} << 16 * (i % 2);
    }
    for (size_t i = 0; i < 4; ++i) sums[i] = d[OfD(lane, i).row * 8 + OfD(lane, i).column];
    MultiplyBf16(sums, left, right);
    for (size_t i = 0; i < 4; ++i) d[OfD(lane, i).row * 8 + OfD(lane, i).column] = sums[i];
  });
  EXPECT_FALSE(fault.has_value()) << fault->ToString();
  return d;
}

TEST(Fragments, Bf16LayoutEqualsTheManual) {
  std::mt19937 random(1);
  std::vector<float> a(16 * 16), b(16 * 8), d(16 * 8);
  for (auto* values : {&a, &b, &d}) {
    for (float& value : *values) value = static_cast<float>(random() % 17) - 8;  // small integers, whose sums are exact
  }
  std::vector<float> expected = d;
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      for (size_t k = 0; k < 16; ++k) expected[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
    }
  }
  EXPECT_EQ(Bf16Product(a, b, d), expected);
  for (const size_t wrong : {1, 4}) {
    EXPECT_NE(Bf16Product(a, b, d, wrong), expected) << "lanes passed the numbers of lane ^ " << wrong;
  }
}

TEST(Fragments, ByteLayoutEqualsTheManual) {
  std::mt19937 random(1);
  std::vector<int> a(16 * 32), b(32 * 8), d(16 * 8, 5), expected(16 * 8, 5);
  for (int& value : a) value = static_cast<int>(random() % 256);
  for (int& value : b) value = static_cast<int>(random() % 256) - 128;
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      for (size_t k = 0; k < 32; ++k) expected[i * 8 + j] += a[i * 32 + k] * b[k * 8 + j];
    }
  }
  Machine machine;
  const auto fault = machine.Launch({.kernel = "fragments"}, [&] {
    const auto lane = static_cast<size_t>(Lane());
    uint32_t left[4] = {}, right[2] = {};
    int32_t sums[4];
    for (size_t i = 0; i < 16; ++i) {
      const Place place = OfA(lane, i, 4);
      left[i / 4] |= static_cast<uint32_t>(a[place.row * 32 + place.column]) << 8 * (i % 4);
    }
    for (size_t i = 0; i < 8; ++i) {
      const Place place = OfB(lane, i, 4);
      right[i / 4] |= (static_cast<uint32_t>(b[place.row * 8 + place.column]) & 0xff) << 8 * (i % 4);
    }
    for (size_t i = 0; i < 4; ++i) sums[i] = d[OfD(lane, i).row * 8 + OfD(lane, i).column];
    MultiplyBytes(sums, left, right);
    for (size_t i = 0; i < 4; ++i) d[OfD(lane, i).row * 8 + OfD(lane, i).column] = sums[i];
  });
  ASSERT_FALSE(fault.has_value()) << fault->ToString();
  EXPECT_EQ(d, expected);
}

// ldmatrix gives lane i two elements of each 8x8 matrix: in row i / 4, columns 2 (i % 4) and 2 (i % 4) + 1. The
// transposed variant gives the elements at these places of the transposed matrix.
TEST(Fragments, LoadedMatrixLayoutEqualsTheManual) {
  Machine machine;
  std::vector<uint32_t> plain(32 * 4), transposed(32 * 4);
  const auto fault = machine.Launch({.kernel = "load", .shared_bytes = 32 * 16}, [&] {
    const Shared<uint16_t> rows = SharedMemory<uint16_t>(0);
    for (int i = 0; i < 8; ++i) rows[Lane() * 8 + i] = static_cast<uint16_t>(Lane() * 8 + i);
    SyncWarp();
    uint32_t words[4];
    LoadMatrices(words, rows + Lane() * 8);
    std::memcpy(&plain[static_cast<size_t>(Lane()) * 4], words, sizeof(words));
    LoadMatricesTransposed(words, rows + Lane() * 8);
    std::memcpy(&transposed[static_cast<size_t>(Lane()) * 4], words, sizeof(words));
  });
  ASSERT_FALSE(fault.has_value()) << fault->ToString();
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      const uint32_t row = lane / 4, column = lane % 4 * 2, first = matrix * 64;
      EXPECT_EQ(plain[lane * 4 + matrix], (first + row * 8 + column) | (first + row * 8 + column + 1) << 16);
      EXPECT_EQ(transposed[lane * 4 + matrix], (first + column * 8 + row) | (first + (column + 1) * 8 + row) << 16);
    }
  }
}

// Stores a matrix of 8 rows and four chunks of 8 numbers. In row r, chunk c is stored at c ^ r % 4, so that ldmatrix
// reads different banks. Loads the matrix as if it were stored at c ^ (r + shift) % 4. Returns each lane's words.
std::vector<uint32_t> LoadSwizzled(int shift) {
  Machine machine;
  std::vector<uint32_t> loaded(32 * 4);
  const auto fault = machine.Launch({.kernel = "swizzle", .shared_bytes = 8 * 32 * sizeof(uint16_t)}, [&] {
    const Shared<uint16_t> rows = SharedMemory<uint16_t>(0);
    const int row = Lane() % 8, chunk = Lane() / 8;
    for (int i = 0; i < 8; ++i) {
      rows[row * 32 + (chunk ^ row % 4) * 8 + i] = static_cast<uint16_t>(row * 32 + chunk * 8 + i);
    }
    SyncWarp();
    uint32_t words[4];
    LoadMatrices(words, rows + (row * 32 + (chunk ^ (row + shift) % 4) * 8));
    std::memcpy(&loaded[static_cast<size_t>(Lane()) * 4], words, sizeof(words));
  });
  EXPECT_FALSE(fault.has_value()) << fault->ToString();
  return loaded;
}

TEST(Fragments, AWrongSwizzleGivesWrongNumbers) {
  std::vector<uint32_t> expected;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    for (uint32_t matrix = 0; matrix < 4; ++matrix) {
      const uint32_t first = lane / 4 * 32 + matrix * 8 + lane % 4 * 2;
      expected.push_back(first | (first + 1) << 16);
    }
  }
  EXPECT_EQ(LoadSwizzled(0), expected);
  EXPECT_NE(LoadSwizzled(1), expected);
}

class EmulatedSums : public ::testing::Test {
 protected:
  float Sum(const std::vector<float>& a, const std::vector<float>& b, float c, RoundingModel model) {
    std::array<uint16_t, 16> left = {}, right = {};
    for (size_t i = 0; i < a.size(); ++i) left[i] = Bits(a[i]);
    for (size_t i = 0; i < b.size(); ++i) right[i] = Bits(b[i]);
    return emulated::SumOfProducts(left, right, c, model, random_);
  }
  std::mt19937_64 random_{1};
};

// Sums of small integers and halves are exact in every rounding model.
TEST_F(EmulatedSums, AreExactForSmallIntegers) {
  for (const RoundingModel model : emulated::kRoundingModels) {
    EXPECT_EQ(Sum({3, -5, 7}, {2, 2, 0.5F}, 0.25F, model), 6 - 10 + 3.5F + 0.25F);
    EXPECT_EQ(Sum({}, {}, -1.5F, model), -1.5F);
    EXPECT_EQ(Sum({1, -1}, {1, 1}, 0, model), 0);
  }
}

// In a sum with a term of 1, sm_80 drops the bits below 2^-24 of each term before it sums, and sm_90 drops the bits
// below 2^-25.
TEST_F(EmulatedSums, AreRoundedAsEachModelRequires) {
  const float tiny = 0x1p-24F, half = 0x1p-12F;
  // 1 + 2^-24 + 2^-24 = 1 + 2^-23 exactly.
  EXPECT_EQ(Sum({1, half, half}, {1, half, half}, 0, RoundingModel::kNearest), 1 + 2 * tiny);
  EXPECT_EQ(Sum({1, half, half}, {1, half, half}, 0, RoundingModel::kSm90), 1 + 2 * tiny);
  // 1 + 3 * 2^-25: kNearest rounds up, kSm90 truncates.
  EXPECT_EQ(Sum({1, half, half}, {1, half, half / 2}, 0, RoundingModel::kNearest), 1 + 2 * tiny);
  EXPECT_EQ(Sum({1, half, half}, {1, half, half / 2}, 0, RoundingModel::kSm90), 1);
  // 4 * 2^-25 = 2^-23: kSm90 keeps each term, kSm80 drops it.
  const std::vector<float> a = {1, half, half, half, half}, b = {1, half / 2, half / 2, half / 2, half / 2};
  EXPECT_EQ(Sum(a, b, 0, RoundingModel::kSm90), 1 + 2 * tiny);
  EXPECT_EQ(Sum(a, b, 0, RoundingModel::kSm80), 1);
  // Negative sums are also rounded towards zero.
  EXPECT_EQ(Sum({-1, half, half}, {1, -half, -half / 2}, 0, RoundingModel::kSm90), -1);
  std::set<float> seen;
  for (int i = 0; i < 64; ++i) seen.insert(Sum({1, half}, {1, half / 2}, 0, RoundingModel::kRandom));
  EXPECT_THAT(seen, ::testing::ElementsAre(1, 1 + 2 * tiny));
}

TEST_F(EmulatedSums, AreCloseForRandomNumbers) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<float> a, b;
    double exact = 0, size = 0;
    const float c = normal(random);
    for (int i = 0; i < 16; ++i) {
      a.push_back(cpu::ToFloat(cpu::ToBf16(normal(random))));
      b.push_back(cpu::ToFloat(cpu::ToBf16(normal(random))));
      exact += double{a.back()} * b.back();
      size += std::abs(double{a.back()} * b.back());
    }
    exact += c;
    EXPECT_EQ(Sum(a, b, c, RoundingModel::kNearest), static_cast<float>(exact));
    for (const RoundingModel model : {RoundingModel::kSm80, RoundingModel::kSm90, RoundingModel::kRandom}) {
      EXPECT_NEAR(Sum(a, b, c, model), exact, 20 * 0x1p-24 * (size + std::abs(c)));
    }
  }
}

// The inputs of one matrix product that was recorded on an H200. There are 8 kinds of inputs, each with its own range
// of exponents. In the last kind, many products cancel each other.
struct RecordedTile {
  RecordedTile(uint64_t kind, uint64_t index) : state_(kind * 1000003 + index * 7919 + 1) {
    constexpr int kOfFactors[8][2] = {{-1, 0}, {-10, 10}, {-20, 20}, {0, 0}, {-60, -50}, {-70, -60}, {-1, 1}, {-1, 0}};
    constexpr int kOfAddends[8][2] = {{-1, 1},      {-12, 12},    {-40, 40},  {20, 30},
                                      {-126, -100}, {-127, -120}, {-30, -20}, {-1, 1}};
    for (uint16_t& number : a) number = Factor(kOfFactors[kind]);
    for (uint16_t& number : b) number = Factor(kOfFactors[kind]);
    for (float& number : c) number = Addend(kOfAddends[kind]);
    if (kind != 7) return;
    for (size_t i = 0; i < a.size(); i += 2) a[i + 1] = a[i] ^ 0x8000;
    for (size_t k = 0; k < 16; k += 2) {
      for (size_t j = 0; j < 8; ++j) {
        if (Next() % 2 == 1) b[(k + 1) * 8 + j] = b[k * 8 + j];
      }
    }
    constexpr int kWide[2] = {-30, 2};
    for (float& number : c) number = Addend(kWide);
  }
  std::array<uint16_t, 16 * 16> a;
  std::array<uint16_t, 16 * 8> b;
  std::array<float, 16 * 8> c;

 private:
  uint32_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 16);
  }
  uint32_t Exponent(const int (&range)[2]) {
    return static_cast<uint32_t>(range[0] + 127) + Next() % static_cast<uint32_t>(range[1] - range[0] + 1);
  }
  uint16_t Factor(const int (&range)[2]) {
    const uint32_t bits = Next();
    return static_cast<uint16_t>((bits & 1) << 15 | Exponent(range) << 7 | (bits >> 8 & 127));
  }
  float Addend(const int (&range)[2]) {
    const uint32_t sign = Next() & 1, exponent = Exponent(range);
    return std::bit_cast<float>(sign << 31 | exponent << 23 | (Next() & 0x7fffff));
  }
  uint64_t state_;
};

// Compares 131,072 sums with the sums of mma.m16n8k16 on an H200. kRecorded has one hash of the sums' bits for each
// kind of inputs.
TEST_F(EmulatedSums, EqualThoseOfAnH200) {
  constexpr uint64_t kRecorded[8] = {0x9eed080bd4e12cff, 0xe46c60b0b6833b43, 0x092a59d1580283ad, 0x08859ddf104e3ed2,
                                     0x7507e14680adbad2, 0x36dc5ca10214d089, 0x1cd6ebc3c4400af9, 0x0fb83ff4b9be7a3e};
  for (uint64_t kind = 0; kind < 8; ++kind) {
    uint64_t hash = 0xcbf29ce484222325;
    for (uint64_t index = 0; index < 128; ++index) {
      const RecordedTile tile(kind, index);
      for (size_t element = 0; element < tile.c.size(); ++element) {
        std::array<uint16_t, 16> a, b;
        for (size_t k = 0; k < 16; ++k) {
          a[k] = tile.a[element / 8 * 16 + k];
          b[k] = tile.b[k * 8 + element % 8];
        }
        const float sum = emulated::SumOfProducts(a, b, tile.c[element], RoundingModel::kSm90, random_);
        hash = (hash ^ std::bit_cast<uint32_t>(sum)) * 0x100000001b3;
      }
    }
    EXPECT_EQ(hash, kRecorded[kind]) << "kind " << kind;
  }
}

TEST_F(EmulatedSums, PropagateNanAndInfinity) {
  for (const RoundingModel model : emulated::kRoundingModels) {
    EXPECT_TRUE(std::isnan(Sum({1, NAN}, {1, 1}, 0, model)));
    EXPECT_TRUE(std::isinf(Sum({1, INFINITY}, {1, 1}, 0, model)));
  }
}

}  // namespace
}  // namespace vitrine::cuda
