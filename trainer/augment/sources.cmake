# SPDX-License-Identifier: Apache-2.0
# Augmentation of training images.
set(augment_sources
  augment/distributions.cc augment/erasing.cc augment/input.cc augment/mixing.cc augment/image_operations.cc
  augment/rand_augment.cc augment/repeats.cc augment/sheet.cc augment/view.cc)
