# SPDX-License-Identifier: Apache-2.0
# Labelled images: formats and wrappers.
set(image_sources
  cached.cc formats/cifar.cc csv.cc formats/csv_list.cc dataset.cc digest.cc file.cc file_names.cc folder.cc formats/idx.cc
  formats/image_folder.cc formats/image_rows.cc formats/imagenet.cc label_map.cc parallel.cc formats/image_files.cc
  formats/planar_records.cc formats/raw_dataset.cc reduced.cc relabelled.cc split_names.cc formats/stl10.cc subset.cc
  formats/tar_index.cc formats/tar_shards.cc formats/tiny_imagenet.cc tolerant.cc unicode.cc unlabelled.cc
  formats/webdataset.cc formats/webdataset_shard.cc)
set(image_libraries base_sha256 base_utf8 ${UNISTRING} ZLIB::ZLIB nlohmann_json::nlohmann_json)
