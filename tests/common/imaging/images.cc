// SPDX-License-Identifier: Apache-2.0
#include "tests/common/imaging/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
// jpeglib.h needs the includes above for size_t and FILE.
#include <jpeglib.h>
#include <spng.h>
#include <zlib.h>

#include <algorithm>
#include <array>

#include "common/imaging/decode.h"

namespace vitrine {
namespace {

std::string BigEndian(uint32_t value, int bytes) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
  return out;
}

// Returns a valid list of `scans` scans for a progressive JPEG. The first scan has the DC coefficients. Each later scan
// has one AC coefficient of one component. The first scan of a coefficient has its upper bits, and each further scan
// has one more bit.
std::vector<jpeg_scan_info> Script(int components, int scans) {
  std::vector<jpeg_scan_info> script;
  jpeg_scan_info mean = {};
  mean.comps_in_scan = components;
  for (int c = 0; c < components; ++c) mean.component_index[c] = c;
  script.push_back(mean);
  for (int bit = 10; bit >= 0; --bit) {
    for (int c = 0; c < components; ++c) {
      for (int k = 1; k < 64; ++k) {
        if (static_cast<int>(script.size()) == scans) return script;
        jpeg_scan_info scan = {};
        scan.comps_in_scan = 1;
        scan.component_index[0] = c;
        scan.Ss = scan.Se = k;
        scan.Ah = bit == 10 ? 0 : bit + 1;
        scan.Al = bit;
        script.push_back(scan);
      }
    }
  }
  return script;
}

void Configure(jpeg_compress_struct& jpeg, const Image& image, const JpegOptions& options) {
  jpeg.image_width = image.width;
  jpeg.image_height = image.height;
  jpeg.input_components = options.cmyk ? 4 : image.channels;
  jpeg.in_color_space = options.cmyk ? JCS_CMYK : image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (options.cmyk) {
    jpeg_set_colorspace(&jpeg, options.ycck ? JCS_YCCK : JCS_CMYK);
    jpeg.write_Adobe_marker = options.adobe;
  }
  for (int c = 0; c < jpeg.num_components; ++c) {
    const int factor = options.subsample ? 2 : 1;
    jpeg.comp_info[c].h_samp_factor = c > 0 ? 1 : options.across > 0 ? options.across : factor;
    jpeg.comp_info[c].v_samp_factor = c > 0 ? 1 : options.down > 0 ? options.down : factor;
  }
  jpeg.restart_in_rows = options.restart_rows;
  if (options.progressive) jpeg_simple_progression(&jpeg);
}

}  // namespace

Image SmoothImage(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double u = (x + 0.5) / width, v = (y + 0.5) / height;
      const double values[3] = {40 + 180 * u, 30 + 120 * v + 80 * u * v, 128 + 100 * std::sin(3 * u - 2 * v)};
      for (int c = 0; c < channels; ++c) image.pixels.push_back(static_cast<uint8_t>(values[c]));
    }
  }
  return image;
}

Image NoiseImage(int width, int height, int channels, uint32_t seed) {
  Image image{width, height, channels, {}};
  uint32_t state = seed * 2654435761u + 1;
  for (int i = 0; i < width * height * channels; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    image.pixels.push_back(static_cast<uint8_t>(state >> 11));
  }
  return image;
}

Image PlainImage(int width, int height, std::vector<uint8_t> colour) {
  Image image{width, height, static_cast<int>(colour.size()), {}};
  for (int i = 0; i < width * height; ++i) image.pixels.insert(image.pixels.end(), colour.begin(), colour.end());
  return image;
}

std::string ExifBlock(int orientation, bool little_endian) {
  const auto number = [&](uint32_t value, int bytes) {
    std::string out = BigEndian(value, bytes);
    if (little_endian) std::reverse(out.begin(), out.end());
    return out;
  };
  return (little_endian ? "II" : "MM") + number(42, 2) + number(8, 4) +  //
         number(2, 2) +                                                  // two entries
         number(0x0100, 2) + number(4, 2) + number(1, 4) + number(640, 4) + number(0x0112, 2) + number(3, 2) +
         number(1, 4) + number(orientation, 2) + number(0, 2) +  //
         number(0, 4);
}

std::string JpegFile(const Image& image, const JpegOptions& options) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);  // an error ends the test program
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;  // NOLINT: the type that libjpeg requires
  jpeg_mem_dest(&jpeg, &buffer, &size);
  Configure(jpeg, image, options);
  std::vector<jpeg_scan_info> script;
  if (options.scans > 0) {
    script = Script(jpeg.num_components, options.scans);
    jpeg.scan_info = script.data();
    jpeg.num_scans = static_cast<int>(script.size());
  }
  jpeg_start_compress(&jpeg, TRUE);
  if (options.exif) {
    const std::string content = std::string("Exif\0\0", 6) + *options.exif;
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(content.data()),
                      static_cast<unsigned>(content.size()));
  }
  std::vector<uint8_t> row;
  for (int y = 0; y < image.height; ++y) {
    const uint8_t* in = &image.pixels[static_cast<size_t>(y) * image.width * image.channels];
    row.assign(in, in + image.width * image.channels);
    if (options.cmyk) {
      row.clear();
      for (int x = 0; x < image.width; ++x) {
        row.insert(row.end(), {in[3 * x], in[3 * x + 1], in[3 * x + 2], static_cast<uint8_t>(options.key)});
      }
    }
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string out(reinterpret_cast<const char*>(buffer), size);
  jpeg_destroy_compress(&jpeg);
  std::free(buffer);
  return out;
}

std::string PngFile(int width, int height, const std::vector<uint8_t>& samples, const PngOptions& options) {
  spng_ctx* context = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header = {};
  header.width = width;
  header.height = height;
  header.bit_depth = static_cast<uint8_t>(options.bit_depth);
  header.color_type = static_cast<uint8_t>(options.color_type);
  header.interlace_method = options.interlaced ? SPNG_INTERLACE_ADAM7 : SPNG_INTERLACE_NONE;
  EXPECT_EQ(spng_set_ihdr(context, &header), 0);
  if (!options.palette.empty()) {
    spng_plte palette = {};
    palette.n_entries = static_cast<uint32_t>(options.palette.size() / 3);
    for (uint32_t i = 0; i < palette.n_entries; ++i) {
      palette.entries[i] = {options.palette[3 * i], options.palette[3 * i + 1], options.palette[3 * i + 2], 255};
    }
    EXPECT_EQ(spng_set_plte(context, &palette), 0);
  }
  if (!options.transparent.empty() || !options.palette_alpha.empty()) {
    spng_trns trns = {};
    if (options.transparent.size() == 1) trns.gray = options.transparent[0];
    if (options.transparent.size() == 3) {
      trns.red = options.transparent[0];
      trns.green = options.transparent[1];
      trns.blue = options.transparent[2];
    }
    trns.n_type3_entries = static_cast<uint32_t>(options.palette_alpha.size());
    std::copy(options.palette_alpha.begin(), options.palette_alpha.end(), trns.type3_alpha);
    EXPECT_EQ(spng_set_trns(context, &trns), 0);
  }
  std::string exif_bytes = options.exif.value_or("");
  if (options.exif) {
    spng_exif exif = {exif_bytes.size(), exif_bytes.data()};
    EXPECT_EQ(spng_set_exif(context, &exif), 0);
  }
  EXPECT_EQ(spng_encode_image(context, samples.data(), samples.size(), SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE), 0);
  size_t size = 0;
  int error = 0;
  void* buffer = spng_get_png_buffer(context, &size, &error);
  EXPECT_EQ(error, 0) << spng_strerror(error);
  std::string out(static_cast<const char*>(buffer), size);
  std::free(buffer);
  spng_ctx_free(context);
  return out;
}

std::string PngFile(const Image& image, PngOptions options) {
  options.color_type = image.channels == 1 ? SPNG_COLOR_TYPE_GRAYSCALE : SPNG_COLOR_TYPE_TRUECOLOR;
  return PngFile(image.width, image.height, image.pixels, options);
}

std::string PngChunk(std::string_view type, std::string_view content) {
  std::string body(type);
  body += content;
  const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return BigEndian(static_cast<uint32_t>(content.size()), 4) + body + BigEndian(static_cast<uint32_t>(sum), 4);
}

int LargestDifference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

void ExpectRefused(const std::string& file, const char* reason) {
  const absl::StatusOr<Image> image = Decode(file);
  ASSERT_FALSE(image.ok());
  EXPECT_EQ(image.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(image.status().message()), ::testing::HasSubstr(reason));
}

}  // namespace vitrine
