# SPDX-License-Identifier: Apache-2.0
# Tests of sets of labelled images.
set(image_tests
  cifar_test.cc csv_test.cc dataset_test.cc file_names_test.cc file_test.cc folder_test.cc idx_test.cc
  image_folder_test.cc imagenet_test.cc label_map_test.cc reduced_test.cc stl10_test.cc tar_index_test.cc
  tar_shards_test.cc tiny_imagenet_test.cc tolerant_test.cc unlabelled_test.cc
  webdataset_test.cc)
