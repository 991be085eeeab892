// SPDX-License-Identifier: Apache-2.0
#include "models/workload/review.h"

namespace vitrine {
namespace {

// Returns a row of a table whose printed figures have no errors.
ReviewOperator Right(int table, std::string_view name, const ReviewCost& cost) {
  return {table, name, cost, cost, ""};
}

std::vector<ReviewOperator> Table3(double N, double b, double d, double a) {
  const double nbd = N * b * d;
  const double logits = N * N * b * a;
  const ReviewCost projection{2 * nbd * d, 8 * nbd + 4 * d * d, nbd / (4 * N * b + 2 * d),
                              "2Nbd^2",    "8Nbd+4d^2",         "Nbd/(4Nb+2d)"};
  std::vector<ReviewOperator> rows;
  rows.push_back(Right(3, "LN", {6 * nbd, 8 * nbd, 3.0 / 4, "6Nbd", "8Nbd", "3/4"}));
  for (const char* name : {"Q proj", "K proj", "V proj"}) rows.push_back(Right(3, name, projection));
  rows.push_back(
      {3,
       "QK matmul",
       {2 * N * nbd, 48 * nbd + 4 * logits, nbd / (4 * b * d + 2 * N * b * a), "2N^2bd", "48Nbd+4N^2ba",
        "Nbd/(4bd+2Nba)"},
       {2 * N * nbd, 8 * nbd + 4 * logits, N * d / (4 * d + 2 * N * a), "2N^2bd", "8Nbd+4N^2ba", "Nd/(4d+2Na)"},
       "bytes print 48Nbd for 8Nbd; the printed intensity uses 8"});
  rows.push_back({3,
                  "scaling",
                  {N * N * b, 8 * logits, 1 / (8 * a), "N^2b", "8N^2ba", "1/(8a)"},
                  {logits, 8 * logits, 1.0 / 8, "N^2ba", "8N^2ba", "1/8"},
                  "the factor a is missing from FLOPs and intensity"});
  rows.push_back({3,
                  "softmax",
                  {3 * N * N * b, 8 * logits, 3 / (8 * a), "3N^2b", "8N^2ba", "3/(8a)"},
                  {3 * logits, 8 * logits, 3.0 / 8, "3N^2ba", "8N^2ba", "3/8"},
                  "the factor a is missing from FLOPs and intensity"});
  rows.push_back(
      {3,
       "SV matmul",
       {2 * N * nbd, 4 * logits + 8 * nbd, nbd / (2.5 * N * b * a + 4 * b * d), "2N^2bd", "4N^2ba+8Nbd",
        "Nbd/(2.5Nba+4bd)"},
       {2 * N * nbd, 4 * logits + 8 * nbd, N * d / (2 * N * a + 4 * d), "2N^2bd", "4N^2ba+8Nbd", "Nd/(2Na+4d)"},
       "the intensity prints 2.5 for 2"});
  ReviewCost output = projection;
  output.intensity = N * d / (2 * d + 4.5 * N);
  output.intensity_formula = "Nd/(2d+4.5N)";
  rows.push_back({3, "O proj", output, projection, "the intensity prints 4.5 for 4, and b is missing"});
  rows.push_back(Right(3, "Add", {nbd, 12 * nbd, 1.0 / 12, "Nbd", "12Nbd", "1/12"}));
  return rows;
}

std::vector<ReviewOperator> Table4(double N, double b, double d) {
  const double nbd = N * b * d;
  const double bytes = 20 * nbd + 16 * d * d;
  const ReviewCost hidden{8 * nbd * d, bytes, 8 * nbd * d / bytes, "8Nbd^2", "20Nbd+16d^2", "2Nbd/(5Nb+4d)"};
  std::vector<ReviewOperator> rows;
  rows.push_back(Right(4, "LN", {6 * nbd, 8 * nbd, 3.0 / 4, "6Nbd", "8Nbd", "3/4"}));
  rows.push_back({4,
                  "FC1",
                  {4 * nbd * d, bytes, nbd / (5 * N * b + 4 * d), "4Nbd^2", "20Nbd+16d^2", "Nbd/(5Nb+4d)"},
                  hidden,
                  "FLOPs and intensity are half of what they must be"});
  rows.push_back({4,
                  "GELU",
                  {32 * nbd, 32 * nbd, 1.0 / 8, "32Nbd", "32Nbd", "1/8"},
                  {4 * nbd, 32 * nbd, 1.0 / 8, "4Nbd", "32Nbd", "1/8"},
                  "FLOPs print the bytes; the printed intensity fits 4Nbd"});
  rows.push_back({4,
                  "FC2",
                  {4 * nbd * d, bytes, 4 * nbd / (21 * N * b + 16 * d), "4Nbd^2", "20Nbd+16d^2", "4Nbd/(21Nb+16d)"},
                  hidden,
                  "FLOPs and intensity are half of what they must be, and 21 is printed for 20"});
  rows.push_back(Right(4, "Add", {nbd, 12 * nbd, 1.0 / 12, "Nbd", "12Nbd", "1/12"}));
  return rows;
}

}  // namespace

std::vector<ReviewOperator> ReviewTables(const ReviewSizes& sizes) {
  const double N = static_cast<double>(sizes.tokens);
  const double b = static_cast<double>(sizes.batch);
  const double d = static_cast<double>(sizes.width);
  const double a = static_cast<double>(sizes.heads);
  const double V = static_cast<double>(sizes.classes);
  std::vector<ReviewOperator> rows = Table3(N, b, d, a);
  for (const ReviewOperator& row : Table4(N, b, d)) rows.push_back(row);
  rows.push_back(Right(5, "classifier",
                       {2 * b * d * V, 4 * b * d + 4 * d * V + 4 * b * V,
                        b * d * V / (2 * b * d + 2 * d * V + 2 * b * V), "2bdV", "4bd+4dV+4bV", "bdV/(2bd+2dV+2bV)"}));
  return rows;
}

}  // namespace vitrine
