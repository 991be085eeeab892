// SPDX-License-Identifier: Apache-2.0
// Compares single operations of the device with those of the emulator.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/gpu_check/checks.h"
#include "common/simd/float_mode.h"
#include "common/status_macros.h"
#include "models/engine/cuda/driver/slot.h"
#include "models/engine/cuda/emulated/products.h"
#include "models/engine/cuda/kernels/arguments.h"

namespace vitrine {
namespace {

using cuda::emulated::RoundingModel;

constexpr int kFloats = 1 << 18, kProducts = 256, kSide = 16;
constexpr size_t kEach = size_t{kSide} * kSide;  // elements of a matrix
constexpr const char* kOperations[] = {"fma", "division", "root", "product and sum", "bf16", "rounding"};

// Computes the operations on the CPU. Must not be inlined, because the compiler does not know that FloatMode changes
// the arithmetic and could compute before the FloatMode exists.
[[gnu::noinline]] void Compute(float a, float b, float c, uint32_t (&bits)[6]) {
  const auto bf16 = [](float value) {
    const uint32_t of = std::bit_cast<uint32_t>(value);
    return (of + 0x7fffu + (of >> 16 & 1)) >> 16;
  };
  bits[0] = std::bit_cast<uint32_t>(std::fma(a, b, c));
  bits[1] = std::bit_cast<uint32_t>(a / b);
  bits[2] = std::bit_cast<uint32_t>(std::sqrt(a));
  bits[3] = std::bit_cast<uint32_t>(a * b + c);
  bits[4] = bf16(a) | bf16(b) << 16;
  bits[5] = std::bit_cast<uint32_t>(std::nearbyint(a));
}

bool IsNan(uint32_t bits) {
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

// Returns a random float of any exponent, including subnormal numbers and infinity, but not NaN.
float AnyFloat(std::mt19937& random) {
  const auto bits = static_cast<uint32_t>(random());
  return std::bit_cast<float>(IsNan(bits) ? bits & 0xbfffffffu : bits);
}

// Runs a kernel whose inputs are in the device's memory. Returns `count` words of its output.
template <class Arguments>
absl::StatusOr<std::vector<uint32_t>> RunOn(cuda::Device& device, const char* kernel, int threads, size_t shared_bytes,
                                            Arguments arguments, size_t count) {
  cuda::Buffers buffers(device);
  arguments.y = buffers.Allocate<uint32_t>(count);
  RETURN_IF_ERROR(buffers.status());
  cuda::Launch launch = cuda::MakeLaunch("primitives", kernel, arguments);
  launch.threads = threads;
  launch.shared_bytes = shared_bytes;
  RETURN_IF_ERROR(device.Run(launch));
  std::vector<uint32_t> result(count);
  RETURN_IF_ERROR(device.Download(result.data(), arguments.y, count * sizeof(uint32_t)));
  return result;
}

absl::StatusOr<std::string> Floats(cuda::Device& device) {
  std::mt19937 random(1);
  std::vector<float> inputs[3];
  for (std::vector<float>& input : inputs) {
    for (int i = 0; i < kFloats; ++i) input.push_back(AnyFloat(random));
  }
  // In half of the sums, product and addend cancel. A quarter of the numbers are fixed-point numbers with a fraction.
  for (size_t i = 0; i < kFloats; i += 2) inputs[2][i] = -inputs[0][i] * inputs[1][i];
  for (size_t i = 0; i < kFloats; i += 4) inputs[0][i] = static_cast<float>(static_cast<int32_t>(random())) / 65536;
  cuda::Buffers buffers(device);
  const cuda::PrimitiveFloatsArguments arguments = {.a = buffers.Copy(inputs[0]),
                                                    .b = buffers.Copy(inputs[1]),
                                                    .c = buffers.Copy(inputs[2]),
                                                    .y = nullptr,
                                                    .count = kFloats};
  RETURN_IF_ERROR(buffers.status());
  ASSIGN_OR_RETURN(const std::vector<uint32_t> result, RunOn(device, "vitrine_primitive_floats", 128, 0, arguments,
                                                             std::size(kOperations) * size_t{kFloats}));
  int different[std::size(kOperations)] = {};
  {
    const cpu::FloatMode mode;
    for (size_t i = 0; i < kFloats; ++i) {
      uint32_t expected[std::size(kOperations)];
      Compute(inputs[0][i], inputs[1][i], inputs[2][i], expected);
      for (size_t j = 0; j < std::size(kOperations); ++j) {
        const uint32_t bits = result[j * kFloats + i];
        if (bits != expected[j] && !(j != 4 && IsNan(bits) && IsNan(expected[j]))) ++different[j];
      }
    }
  }
  std::string faults;
  for (size_t j = 0; j < std::size(kOperations); ++j) {
    if (different[j] > 0) absl::StrAppend(&faults, different[j], " of ", kOperations[j], "; ");
  }
  if (faults.empty()) return absl::StrCat("6 operations of ", kFloats, " numbers have the host's bits");
  return absl::InternalError(absl::StrCat("other bits than the host's: ", faults, "of ", kFloats, " each"));
}

// Matrices of the products a * b + c, and the device's results y.
struct Products {
  std::vector<uint16_t> a, b;
  std::vector<uint32_t> c, y;
};

absl::Status Multiply(cuda::Device& device, bool bytes, Products& products) {
  cuda::Buffers buffers(device);
  const cuda::PrimitiveProductsArguments arguments = {.a = buffers.Copy(products.a),
                                                      .b = buffers.Copy(products.b),
                                                      .c = buffers.Copy(products.c),
                                                      .y = nullptr,
                                                      .count = kProducts,
                                                      .bytes = bytes};
  RETURN_IF_ERROR(buffers.status());
  ASSIGN_OR_RETURN(products.y, RunOn(device, "vitrine_primitive_products", 32, size_t{2} * cuda::kPrimitiveBytes,
                                     arguments, kProducts * kEach));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Bytes(cuda::Device& device) {
  std::mt19937 random(2);
  Products products;
  for (size_t i = 0; i < kProducts * kEach; ++i) {
    products.a.push_back(static_cast<uint16_t>(random()));
    products.b.push_back(static_cast<uint16_t>(random()));
    products.c.push_back(static_cast<uint32_t>(random()) >> 4);
  }
  RETURN_IF_ERROR(Multiply(device, true, products));
  int different = 0;
  for (size_t i = 0; i < kProducts * kEach; ++i) {
    const uint16_t* const a = &products.a[i / kEach * kEach + i % kEach / kSide * kSide];
    const uint16_t* const b = &products.b[i / kEach * kEach + i % kSide * kSide];
    auto sum = static_cast<int32_t>(products.c[i]);
    for (size_t k = 0; k < 2 * kSide; ++k) {
      const auto shift = 8 * (k % 2);
      sum += static_cast<int32_t>(a[k / 2] >> shift & 0xff) * static_cast<int8_t>(b[k / 2] >> shift & 0xff);
    }
    different += products.y[i] != static_cast<uint32_t>(sum) ? 1 : 0;
  }
  if (different == 0) return absl::StrCat(kProducts * kEach, " sums of 32 products are exact");
  return absl::InternalError(absl::StrCat(different, " of ", kProducts * kEach, " sums differ from integers'"));
}

// Returns products of four kinds: with similar exponents, with very different exponents, with terms that cancel, and
// with a large addend.
Products ProductsOfBf16() {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> any(-1, 1);
  std::uniform_int_distribution<int> exponent(-20, 20);
  Products products;
  for (size_t i = 0; i < kProducts * kEach; ++i) {
    const size_t kind = i / kEach % 4;
    const auto number = [&] {
      return std::bit_cast<uint32_t>(kind == 1 ? std::ldexp(any(random), exponent(random)) : any(random));
    };
    products.a.push_back(static_cast<uint16_t>(number() >> 16));
    products.b.push_back(static_cast<uint16_t>(number() >> 16));
    products.c.push_back(kind == 3 ? std::bit_cast<uint32_t>(64 * any(random)) : number());
    // Makes neighbouring products nearly cancel: sign and last bit of `a` differ, and rows of `b` are equal in pairs.
    if (kind == 2 && i % 2 == 1) products.a.back() = static_cast<uint16_t>(products.a[i - 1] ^ 0x8001u);
    if (kind == 2 && i / kSide % 2 == 1) products.b.back() = products.b[i - kSide];
  }
  return products;
}

// Returns true if `sum` equals the sum that the rounding model gives. With kRandom, tries several random roundings.
bool Fits(std::span<const uint16_t, 16> a, std::span<const uint16_t, 16> b, float c, uint32_t sum, RoundingModel model,
          std::mt19937_64& random) {
  const int tries = model == RoundingModel::kRandom ? 40 : 1;
  for (int i = 0; i < tries; ++i) {
    if (std::bit_cast<uint32_t>(cuda::emulated::SumOfProducts(a, b, c, model, random)) == sum) return true;
  }
  return false;
}

absl::StatusOr<std::string> Bf16(cuda::Device& device, int capability) {
  Products products = ProductsOfBf16();
  RETURN_IF_ERROR(Multiply(device, false, products));
  constexpr std::pair<RoundingModel, const char*> kModels[] = {{RoundingModel::kNearest, "to nearest"},
                                                               {RoundingModel::kSm80, "sm_80's"},
                                                               {RoundingModel::kSm90, "sm_90's"},
                                                               {RoundingModel::kRandom, "up or down"}};
  std::mt19937_64 random(4);
  std::string figures, fits;
  bool fits_sm90 = false;
  for (const auto& [model, name] : kModels) {
    int different = 0;
    for (size_t i = 0; i < kProducts * kEach; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(i / kEach * kEach);
      uint16_t column[kSide];
      for (size_t k = 0; k < kSide; ++k) column[k] = products.b[static_cast<size_t>(begin) + k * kSide + i % kSide];
      const std::span<const uint16_t, 16> row(
          products.a.begin() + begin + static_cast<std::ptrdiff_t>(i % kEach / kSide * kSide), kSide);
      different += Fits(row, column, std::bit_cast<float>(products.c[i]), products.y[i], model, random) ? 0 : 1;
    }
    absl::StrAppend(&figures, figures.empty() ? "" : ", ", different, " differ from ", name);
    if (different > 0) continue;
    absl::StrAppend(&fits, fits.empty() ? "" : " and ", name);
    fits_sm90 = fits_sm90 || model == RoundingModel::kSm90;
  }
  const std::string text =
      absl::StrCat(fits.empty() ? "no rounding model" : fits, " fits ", kProducts * kEach, " sums; ", figures);
  if (capability == 90 && !fits_sm90) return absl::InternalError(text);
  return text;
}

}  // namespace

void CheckPrimitives(const CheckSetting& setting, CheckReport& report) {
  const absl::StatusOr<std::unique_ptr<cuda::driver::Slot>> slot =
      cuda::driver::Slot::Make(*setting.card, {.limit = kDeviceTimeout});
  const auto run = [&](const char* name, const std::function<absl::StatusOr<std::string>(cuda::Device&)>& check) {
    report.Run(name, [&]() -> absl::StatusOr<std::string> {
      RETURN_IF_ERROR(slot.status());
      return check(**slot);
    });
  };
  run("primitives: floats", Floats);
  run("primitives: bytes", Bytes);
  run("primitives: bf16 products", [&](cuda::Device& device) { return Bf16(device, setting.card->capability()); });
}

}  // namespace vitrine
