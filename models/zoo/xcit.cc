// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/inputs.h"
#include "models/zoo/rows.h"

namespace vitrine::zoo {
namespace {

constexpr std::string_view kXcitPaper = "XCiT, Table 1";
constexpr std::string_view kEmbeddingPaper = "QKV embedding, Table 2";
constexpr std::string_view kTransfer = "QKV embedding, Tables 3 and 4";
constexpr std::string_view kDepth = "QKV embedding, Figure 3";
constexpr std::string_view kCodes = "QKV embedding, Table 5";

struct XcitSize {
  int width;
  int heads;
  bool tokens_norm;
};
constexpr XcitSize kXcitNano{128, 4, false};
constexpr XcitSize kXcitTiny{192, 4, true};
constexpr XcitSize kXcitSmall{384, 8, true};

v1::ModelConfig Xcit(int classes, int patch, XcitSize size) {
  v1::ModelConfig config = NativeImageNet(classes, patch);
  v1::XcitConfig& xcit = *config.mutable_xcit();
  xcit.set_patch(patch);
  xcit.set_width(size.width);
  xcit.set_depth(12);
  xcit.set_class_depth(2);
  xcit.set_heads(size.heads);
  xcit.set_mlp_width(4 * size.width);
  xcit.set_tokens_norm(size.tokens_norm);
  return config;
}
v1::ModelConfig Xcit(XcitSize size) {
  return Xcit(1000, 16, size);
}

// Returns XCiT with one of the paper's embeddings, of width `hidden`.
v1::ModelConfig Embedded(XcitSize size, v1::XcitConfig::Embedding embedding, int hidden, int layers = 0) {
  v1::ModelConfig config = Xcit(size);
  config.mutable_xcit()->set_embedding(embedding);
  config.mutable_xcit()->set_embedding_width(hidden);
  config.mutable_xcit()->set_embedding_layers(layers);
  return config;
}
v1::ModelConfig FSne(XcitSize size, int hidden, int code, bool per_block = false) {
  v1::ModelConfig config = Embedded(size, v1::XcitConfig::F_SNE, hidden);
  config.mutable_xcit()->set_code_length(code);
  config.mutable_xcit()->set_codes_per_block(per_block);
  return config;
}

}  // namespace

std::vector<ZooRow> XcitRows() {
  using X = v1::XcitConfig;
  return {
      // clang-format off
      // name, config, parameters, source; a star in the paper's names is "wide" here
      {"xcit-n12", Xcit(kXcitNano), 3'053'224, kXcitPaper},
      {"xcit-t12", Xcit(kXcitTiny), 6'716'272, kXcitPaper},
      {"xcit-n12-sne", Embedded(kXcitNano, X::SNE, 64), 3'055'528, kEmbeddingPaper},
      {"xcit-t12-sne", Embedded(kXcitTiny, X::SNE, 96), 6'719'728, kEmbeddingPaper},
      {"xcit-n12-p-sne", Embedded(kXcitNano, X::P_SNE, 96), 3'053'608, kEmbeddingPaper},
      {"xcit-t12-p-sne", Embedded(kXcitTiny, X::P_SNE, 144), 6'716'848, kEmbeddingPaper},
      {"xcit-n12-f-sne-8", FSne(kXcitNano, 128, 8), 2'867'392, kEmbeddingPaper},
      {"xcit-t12-f-sne-8", FSne(kXcitTiny, 192, 8), 6'290'056, kEmbeddingPaper},
      {"xcit-n12-f-sne-8-wide", FSne(kXcitNano, 186, 8), 3'051'832, kEmbeddingPaper},
      {"xcit-t12-f-sne-8-wide", FSne(kXcitTiny, 282, 8), 6'714'496, kEmbeddingPaper},
      {"xcit-n12-f-sne-16", FSne(kXcitNano, 128, 16), 2'879'704, kEmbeddingPaper},
      {"xcit-t12-f-sne-16", FSne(kXcitTiny, 192, 16), 6'308'512, kEmbeddingPaper},
      {"xcit-n12-f-sne-16-wide", FSne(kXcitNano, 182, 16), 3'056'608, kEmbeddingPaper},
      {"xcit-t12-f-sne-16-wide", FSne(kXcitTiny, 276, 16), 6'712'720, kEmbeddingPaper},
      {"xcit-n12-f-sne-32", FSne(kXcitNano, 128, 32), 2'904'328, kEmbeddingPaper},
      {"xcit-t12-f-sne-32", FSne(kXcitTiny, 192, 32), 6'345'424, kEmbeddingPaper},
      {"xcit-n12-f-sne-64", FSne(kXcitNano, 128, 64), 2'953'576, kEmbeddingPaper},
      {"xcit-t12-f-sne-64", FSne(kXcitTiny, 192, 64), 6'419'248, kEmbeddingPaper},
      {"xcit-n12-sne-3-layers", Embedded(kXcitNano, X::SNE, 64, 3), 3'205'288, kDepth},
      {"xcit-n12-sne-4-layers", Embedded(kXcitNano, X::SNE, 64, 4), 3'355'048, kDepth},
      {"xcit-n12-f-sne-8-wide-own-codes", FSne(kXcitNano, 186, 8, true), 3'052'096, kCodes},
      {"xcit-n12-10-classes", Xcit(10, 16, kXcitNano), 2'925'514, kTransfer},
      {"xcit-n12-100-classes", Xcit(100, 16, kXcitNano), 2'937'124, kTransfer},
      {"xcit-n12-196-classes", Xcit(196, 16, kXcitNano), 2'949'508, kTransfer},
      {"xcit-t12-10-classes", Xcit(10, 16, kXcitTiny), 6'525'202, kTransfer},
      {"xcit-t12-100-classes", Xcit(100, 16, kXcitTiny), 6'542'572, kTransfer},
      {"xcit-t12-196-classes", Xcit(196, 16, kXcitTiny), 6'561'100, kTransfer},
      {"xcit-n12-p8", Xcit(1000, 8, kXcitNano), 3'049'016, kXcitPaper},
      {"xcit-t12-p8", Xcit(1000, 8, kXcitTiny), 6'706'504, kXcitPaper},
      {"xcit-s12", Xcit(kXcitSmall), 26'253'304, kXcitPaper},
      {"xcit-s12-p8", Xcit(1000, 8, kXcitSmall), 26'213'032, kXcitPaper},
      // clang-format on
  };
}

}  // namespace vitrine::zoo
