// SPDX-License-Identifier: Apache-2.0
// One rank of the tests. Joins the other ranks that the environment describes, does JOB, and prints the result. Exit
// code 1: Connect, Sum or Broadcast failed, and the status is the last line; 3: a wrong result.
//   exchange_worker JOB ARRIVAL_SECONDS ANSWER_SECONDS [AGREEMENT]
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "trainer/scale_out/gloo.h"

namespace vitrine {
namespace {

using Tensors = std::vector<at::Tensor>;

// Returns tensors of small whole numbers with all layouts and sizes that a caller may pass. Their sums are exact in
// every tested type.
Tensors Numbers(int rank, bool large) {
  const auto values = [rank](int64_t count, int64_t which, at::ScalarType type) {
    return (at::arange(count, at::kLong) * 7 + which * 13 + rank * 31).remainder(41).sub(20).to(type);
  };
  Tensors all;
  for (int i = 0; i < 300; ++i) all.push_back(values(1 + i % 17, i, at::kFloat).view({1, -1}));
  for (const auto type : {at::kDouble, at::kLong, at::kInt, at::kHalf, at::kBFloat16}) {
    all.push_back(values(1000, type == at::kLong, type));
  }
  all.push_back(values(60, 1, at::kFloat).view({5, 12}).t());                 // not contiguous
  all.push_back(values(60, 2, at::kFloat).view({3, 4, 5})[1]);                // a view of another tensor
  all.push_back(values(1, 3, at::kFloat).view({}));                           // no dimension
  all.push_back(at::empty({0, 4}));                                           // no element
  all.push_back(values(9, 4, at::kFloat).requires_grad_(true));               // a parameter
  if (large) all.push_back(at::full({17'000'003}, 3.0f + rank, at::kFloat));  // larger than a bucket
  if (large) all.push_back(at::full({9'000'001, 1}, 5.0f - rank, at::kFloat));
  return all;
}

void Check(bool right, const std::string& what) {
  if (right) return;
  std::cout << "wrong: " << what << std::endl;
  std::exit(3);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cout << status << std::endl;
  std::exit(1);
}

void SumNumbers(Communicator& ranks, bool large) {
  Tensors mine = Numbers(ranks.rank(), large);
  Tensors expected = Numbers(0, large);
  for (int other = 1; other < ranks.size(); ++other) {
    const Tensors theirs = Numbers(other, large);
    for (size_t i = 0; i < theirs.size(); ++i) expected[i] = expected[i].detach() + theirs[i].detach();
  }
  Check(ranks.Sum(mine));
  for (size_t i = 0; i < mine.size(); ++i)
    Check(at::equal(mine[i], expected[i]), "the sum of tensor " + std::to_string(i));

  Tensors copies = Numbers(ranks.rank(), large);
  copies.push_back(at::full({5}, ranks.rank() == 0, at::kBool));
  Tensors first = Numbers(0, large);
  first.push_back(at::ones({5}, at::kBool));
  Check(ranks.Broadcast(copies));
  for (size_t i = 0; i < first.size(); ++i)
    Check(at::equal(copies[i], first[i]), "the broadcast tensor " + std::to_string(i));
}

// Prints a hash of sums whose last bits depend on the order of additions.
void SumFractions(Communicator& ranks) {
  Tensors mine = {(at::arange(100'003, at::kFloat) * (0.37f + ranks.rank())).sin(),
                  (at::arange(501, at::kFloat) * (0.11f + ranks.rank())).exp()};
  uint64_t hash = 14695981039346656037u;
  for (int step = 0; step < 20; ++step) {
    Check(ranks.Sum(mine));
    for (at::Tensor& tensor : mine) {
      const auto* bytes = static_cast<const uint8_t*>(tensor.data_ptr());
      for (int64_t i = 0; i < tensor.numel() * 4; ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
      tensor = tensor * (0.3f + 0.01f * ranks.rank());
    }
  }
  std::cout << "hash " << hash << std::endl;
}

// Sums in a loop, like a training, until a rank is lost.
void SumForEver(Communicator& ranks) {
  const Tensors gradients = {at::ones({1 << 20}), at::ones({77})};
  for (int64_t step = 0;; ++step) {
    const absl::Status status = ranks.Sum(gradients);
    if (!status.ok()) {
      Check(ranks.Sum(gradients).message() == status.message(), "a lost group answers as before");
      Check(status);
    }
    if (step == 10) std::cout << "ten steps" << std::endl;
    gradients[0].fill_(1);
  }
}

int Main(int argc, char** argv) {
  const auto rendezvous = ReadRendezvous([](const char* name) { return std::getenv(name); });
  Check(rendezvous.status());
  Check(rendezvous->has_value(), "no rank in the environment");
  ConnectOptions options{.arrival_timeout = absl::Seconds(std::atof(argv[2])),
                         .answer_timeout = absl::Seconds(std::atof(argv[3])),
                         .report_timeout = absl::Seconds(2),
                         .agreement = argc > 4 ? argv[4] : ""};
  const auto ranks = Connect(**rendezvous, options);
  Check(ranks.status());
  std::cout << "rank " << (*ranks)->rank() << " of " << (*ranks)->size() << std::endl;
  const std::string job = argv[1];
  if (job == "numbers") SumNumbers(**ranks, false);
  if (job == "large") SumNumbers(**ranks, true);
  if (job == "fractions") SumFractions(**ranks);
  if (job == "for-ever") SumForEver(**ranks);
  std::cout << "done" << std::endl;
  return 0;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
