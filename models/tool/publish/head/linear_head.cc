// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/head/linear_head.h"

#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/statistics/temperature.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Features minus their mean. All matrices are in double.
struct Centred {
  cv::Mat x;        // [images, width]
  cv::Mat mean;     // [1, width]
  cv::Mat targets;  // [images, classes], one-hot
  cv::Mat counts;   // [1, classes], images of each class
};

absl::StatusOr<Centred> Centre(LabelledFeatures& features) {
  const auto images = static_cast<int>(features.labels.size());
  Centred c = {.x = cv::Mat(images, features.width, CV_64F, features.values.data()),
               .mean = {},
               .targets = cv::Mat::zeros(images, features.classes, CV_64F),
               .counts = {}};
  cv::reduce(c.x, c.mean, 0, cv::REDUCE_AVG);
  for (int i = 0; i < images; ++i) {
    c.x.row(i) -= c.mean;
    c.targets.at<double>(i, features.labels[static_cast<size_t>(i)]) = 1;
  }
  cv::reduce(c.targets, c.counts, 0, cv::REDUCE_SUM);
  constexpr double kRounding = 1e-24;
  if (c.x.dot(c.x) > kRounding * images * c.mean.dot(c.mean)) return c;
  return absl::FailedPreconditionError("the features of all images are equal; use images that differ");
}

// Converts weights [classes, width] and biases [1, classes] for centred features to a scaled head for the original
// features. Each row of `left_out` has the logits [classes] of an image, computed by a head that was fitted without
// that image.
LinearHead Finish(const Centred& c, const std::vector<int32_t>& labels, const cv::Mat& weight, const cv::Mat& bias,
                  cv::Mat left_out) {
  LinearHead head;
  for (int i = 0; i < left_out.rows; ++i) {
    cv::Mat row = left_out.row(i);
    row -= cv::mean(row);
    const auto top = std::max_element(row.begin<double>(), row.end<double>()) - row.begin<double>();
    if (top == labels[static_cast<size_t>(i)]) ++head.correct;
  }
  // Scales the logits to a root mean square of 1, because FitTemperature searches only a limited range around 1.
  const double unit = cv::norm(left_out) / std::sqrt(static_cast<double>(left_out.total()));
  left_out.convertTo(left_out, CV_32F, 1 / unit);
  constexpr int kSample = 4096;  // images that suffice for one factor
  std::vector<LabelledLogits> sample;
  for (int i = 0; i < left_out.rows; i += 1 + (left_out.rows - 1) / kSample) {
    sample.push_back({std::span(left_out.ptr<float>(i), bias.total()), labels[static_cast<size_t>(i)]});
  }
  const double scale = 1 / (unit * FitTemperature(sample));
  const cv::Mat weights = weight * scale, biases = (bias - c.mean * weight.t()) * scale;
  head.weight.assign(weights.begin<double>(), weights.end<double>());
  head.bias.assign(biases.begin<double>(), biases.end<double>());
  return head;
}

absl::StatusOr<LinearHead> Prototypes(LabelledFeatures& features) {
  ASSIGN_OR_RETURN(const Centred c, Centre(features));
  cv::Mat means = c.targets.t() * c.x, bias = c.counts.clone();
  for (int k = 0; k < means.rows; ++k) {
    means.row(k) /= c.counts.at<double>(k);
    bias.at<double>(k) = -means.row(k).dot(means.row(k)) / 2;
  }
  cv::Mat left_out = c.x * means.t();
  for (int i = 0; i < left_out.rows; ++i) {
    left_out.row(i) += bias;
    // Without the image, the mean m of its class is (n m - x) / (n - 1), which is n / (n - 1) times as far from x.
    const int label = features.labels[static_cast<size_t>(i)];
    const double n = c.counts.at<double>(label);
    double& logit = left_out.at<double>(i, label);
    logit -= (std::pow(n / (n - 1), 2) - 1) * (c.x.row(i).dot(c.x.row(i)) - 2 * logit) / 2;
  }
  return Finish(c, features.labels, means, bias, left_out);
}

absl::StatusOr<LinearHead> Probe(LabelledFeatures& features, std::optional<double> alpha) {
  ASSIGN_OR_RETURN(const Centred c, Centre(features));
  const double spread = c.x.dot(c.x) / c.x.cols, least_alpha = 1e-12 * spread;
  std::vector<double> alphas;
  const auto middle = static_cast<int>(std::lround(std::log10(spread)));
  for (int power = middle - 5; power <= middle + 1; ++power) alphas.push_back(std::pow(10, power));
  if (alpha.has_value()) alphas = {*alpha};
  cv::Mat gram, weight, left_out;
  cv::mulTransposed(c.x, gram, /*aTa=*/true);
  const cv::Mat products = c.x.t() * c.targets, bias = c.counts / c.x.rows;
  double best = 0, least = 0;
  for (const double each : alphas) {
    cv::Mat inverse;
    const cv::Mat penalized = gram + each * cv::Mat::eye(gram.size(), CV_64F);
    if (each < least_alpha || cv::invert(penalized, inverse, cv::DECOMP_CHOLESKY) == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("--alpha ", each, " is too small for these features; use at least ", least_alpha));
    }
    const cv::Mat fitted = inverse * products, solved = c.x * inverse;
    // In a fit without the image, the image's residuals are larger by the factor 1 / (1 - h). Here h, the leverage, is
    // the derivative of the image's logits with respect to its targets.
    cv::Mat residuals = c.targets - c.x * fitted;
    for (int i = 0; i < residuals.rows; ++i) {
      const double leverage = 1.0 / residuals.rows + solved.row(i).dot(c.x.row(i));
      residuals.row(i) = (residuals.row(i) - bias) / (1 - leverage);
    }
    const double error = residuals.dot(residuals);
    if (!weight.empty() && error >= least) continue;
    best = each;
    least = error;
    weight = fitted.t();
    left_out = c.targets - residuals;
  }
  LinearHead head = Finish(c, features.labels, weight, bias, left_out);
  head.alpha = best;
  return head;
}

// Calls `fit` and returns OpenCV's exceptions as errors.
template <class Fit>
absl::StatusOr<LinearHead> Guarded(const Fit& fit) {
  try {
    return fit();
  } catch (const cv::Exception& fault) {
    return absl::ResourceExhaustedError(absl::StrCat("the head could not be computed: ", fault.what()));
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
