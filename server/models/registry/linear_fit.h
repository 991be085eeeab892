// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_LINEAR_FIT_H_
#define VITRINE_SERVER_MODELS_REGISTRY_LINEAR_FIT_H_

#include "base/mutex.h"

namespace vitrine {

// y = a + b x by least squares, with a and b at least zero, over what was observed of late: each older point counts
// nine tenths of the next. Where the points lie too close together to tell a from b, y = b x. Thread-safe.
class LinearFit {
 public:
  void Observe(double x, double y);
  double At(double x) const;  // zero before the first observation

 private:
  mutable Mutex mutex_;
  // Weighted means.
  double x_ ABSL_GUARDED_BY(mutex_) = 0;
  double y_ ABSL_GUARDED_BY(mutex_) = 0;
  double xx_ ABSL_GUARDED_BY(mutex_) = 0;
  double xy_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_empty_ ABSL_GUARDED_BY(mutex_) = true;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_LINEAR_FIT_H_
