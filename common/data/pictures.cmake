# SPDX-License-Identifier: Apache-2.0
# Labelled images: formats and wrappers.
set(picture_sources
  cached.cc cifar.cc csv.cc dataset.cc digest.cc file.cc file_names.cc folder.cc idx.cc image_folder.cc imagenet.cc
  label_map.cc parallel.cc picture_files.cc
  planar_records.cc raw_dataset.cc reduced.cc relabelled.cc stl10.cc subset.cc tar_index.cc tar_shards.cc tiny_imagenet.cc
  tolerant.cc unicode.cc webdataset.cc webdataset_shard.cc)
set(picture_libraries base_sha256 base_utf8 ${UNISTRING} ZLIB::ZLIB nlohmann_json::nlohmann_json)
