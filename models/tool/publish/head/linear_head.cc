// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/head/linear_head.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <new>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failed_allocation.h"
#include "common/statistics/temperature.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

using Eigen::Index;
template <class T>
using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::RowVectorXd;

// Features minus their mean.
struct Centred {
  Eigen::Map<Rows<double>> x;  // [images, width], in the memory of the features
  Row mean;                    // [width]
  Rows<double> sums;           // [classes, width], sum of the rows of x of each class
  Row counts;                  // [classes], images of each class
};

absl::StatusOr<Centred> Centre(LabelledFeatures& features) {
  const auto images = static_cast<Index>(features.labels.size());
  Centred c = {.x = Eigen::Map<Rows<double>>(features.values.data(), images, features.width),
               .mean = {},
               .sums = Rows<double>::Zero(features.classes, features.width),
               .counts = Row::Zero(features.classes)};
  c.mean = c.x.colwise().mean();
  c.x.rowwise() -= c.mean;
  for (Index i = 0; i < images; ++i) {
    const int32_t label = features.labels[static_cast<size_t>(i)];
    c.sums.row(label) += c.x.row(i);
    c.counts(label) += 1;
  }
  constexpr double kRounding = 1e-24;
  if (c.x.squaredNorm() > kRounding * static_cast<double>(images) * c.mean.squaredNorm()) return c;
  return absl::FailedPreconditionError("the features of all images are equal; use images that differ");
}

// Converts weights [classes, width] and biases [1, classes] for centred features to a scaled head for the original
// features. Each row of `left_out` has the logits [classes] of an image, computed by a head that was fitted without
// that image.
LinearHead Finish(const Centred& c, const std::vector<int32_t>& labels, const Rows<double>& weight, const Row& bias,
                  Rows<double> left_out) {
  LinearHead head;
  for (Index i = 0; i < left_out.rows(); ++i) {
    left_out.row(i).array() -= left_out.row(i).mean();
    Index top = 0;
    left_out.row(i).maxCoeff(&top);
    if (top == labels[static_cast<size_t>(i)]) ++head.correct;
  }
  // Scales the logits to a root mean square of 1, because FitTemperature searches only a limited range around 1.
  const double unit = left_out.norm() / std::sqrt(static_cast<double>(left_out.size()));
  const Rows<float> logits = (left_out / unit).cast<float>();
  constexpr Index kSample = 4096;  // number of images that is enough to fit one factor
  std::vector<LabelledLogits> sample;
  for (Index i = 0; i < logits.rows(); i += 1 + (logits.rows() - 1) / kSample) {
    const std::span row(logits.row(i).data(), static_cast<size_t>(logits.cols()));
    sample.push_back({row, labels[static_cast<size_t>(i)]});
  }
  const double scale = 1 / (unit * FitTemperature(sample));
  head.weight.resize(static_cast<size_t>(weight.size()));
  head.bias.resize(static_cast<size_t>(bias.size()));
  Eigen::Map<Rows<double>>(head.weight.data(), weight.rows(), weight.cols()) = weight * scale;
  Eigen::Map<Row>(head.bias.data(), bias.size()) = (bias - c.mean * weight.transpose()) * scale;
  return head;
}

absl::StatusOr<LinearHead> Prototypes(LabelledFeatures& features) {
  ASSIGN_OR_RETURN(const Centred c, Centre(features));
  const Rows<double> means = c.counts.cwiseInverse().asDiagonal() * c.sums;
  const Row bias = means.rowwise().squaredNorm() / -2;
  Rows<double> left_out = c.x * means.transpose();
  left_out.rowwise() += bias;
  for (Index i = 0; i < left_out.rows(); ++i) {
    // Let m be the mean of the n images of the class. Without the image x, the mean is (n m - x) / (n - 1). Its
    // distance from x is n / (n - 1) times the distance of m from x.
    const int32_t label = features.labels[static_cast<size_t>(i)];
    const double n = c.counts(label);
    double& logit = left_out(i, label);
    logit -= (std::pow(n / (n - 1), 2) - 1) * (c.x.row(i).squaredNorm() - 2 * logit) / 2;
  }
  return Finish(c, features.labels, means, bias, std::move(left_out));
}

absl::StatusOr<LinearHead> Probe(LabelledFeatures& features, std::optional<double> alpha) {
  ASSIGN_OR_RETURN(const Centred c, Centre(features));
  const double spread = c.x.squaredNorm() / features.width, least_alpha = 1e-12 * spread;
  std::vector<double> alphas;
  const auto middle = static_cast<int>(std::lround(std::log10(spread)));
  for (int power = middle - 5; power <= middle + 1; ++power) alphas.push_back(std::pow(10, power));
  if (alpha.has_value()) alphas = {*alpha};
  const Row bias = c.counts / static_cast<double>(c.x.rows());
  const auto add_targets = [&](Rows<double>& logits) {  // the targets are one-hot
    for (Index i = 0; i < logits.rows(); ++i) logits(i, features.labels[static_cast<size_t>(i)]) += 1;
  };
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(c.x.cols(), c.x.cols());  // only the lower half is computed and used
  gram.selfadjointView<Eigen::Lower>().rankUpdate(c.x.transpose());
  double best = 0, least = 0;
  Rows<double> weight, left_out;
  for (const double each : alphas) {
    Eigen::MatrixXd penalized = gram;
    penalized.diagonal().array() += each;
    const Eigen::LLT<Eigen::MatrixXd> cholesky(penalized);
    if (each < least_alpha || cholesky.info() != Eigen::Success) {
      return absl::FailedPreconditionError(
          absl::StrCat("--alpha ", each, " is too small for these features; use at least ", least_alpha));
    }
    const Eigen::MatrixXd fitted = cholesky.solve(c.sums.transpose());
    Rows<double> residuals = -(c.x * fitted);
    residuals.rowwise() -= bias;
    add_targets(residuals);
    // In a fit without the image, the image's residuals are larger by the factor 1 / (1 - h). Here h, the leverage, is
    // the derivative of the image's logits with respect to its targets: 1 / images + |y|^2, where y solves L y = x, and
    // L is the Cholesky factor.
    const Eigen::MatrixXd solved = cholesky.matrixL().solve(c.x.transpose());
    for (Index i = 0; i < residuals.rows(); ++i) {
      residuals.row(i) /= 1 - 1.0 / static_cast<double>(residuals.rows()) - solved.col(i).squaredNorm();
    }
    const double error = residuals.squaredNorm();
    if (weight.size() > 0 && error >= least) continue;
    best = each;
    least = error;
    weight = fitted.transpose();
    left_out = -residuals;
  }
  add_targets(left_out);
  LinearHead head = Finish(c, features.labels, weight, bias, std::move(left_out));
  head.alpha = best;
  return head;
}

// Calls `fit`. Calls FailAllocation if Eigen throws std::bad_alloc: Eigen allocates with malloc, so a failure does not
// call the new_handler, which ends the process.
template <class Fit>
absl::StatusOr<LinearHead> Guarded(const Fit& fit) {
  try {
    return fit();
  } catch (const std::bad_alloc&) {
    FailAllocation();
  }
}

}  // namespace

absl::StatusOr<LinearHead> FitPrototypes(LabelledFeatures features) {
  return Guarded([&] { return Prototypes(features); });
}

absl::StatusOr<LinearHead> FitProbe(LabelledFeatures features, std::optional<double> alpha) {
  return Guarded([&] { return Probe(features, alpha); });
}

}  // namespace vitrine
