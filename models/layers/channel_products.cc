#include "models/layers/channel_products.h"

#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include <utility>

#include "models/layers/attention.h"
#include "models/layers/token_sequence.h"

namespace vitrine {

at::Tensor ChannelProducts(const at::Tensor& a, const at::Tensor& b, const TokenLayout& layout) {
  std::vector<at::Tensor> products;
  for (const TokenLayout::Run& run : layout.runs()) {
    products.push_back(at::matmul(HeadsOfRun(a, run).transpose(2, 3), HeadsOfRun(b, run)));
  }
  return JoinRuns(std::move(products), layout.images());
}

at::Tensor ChannelNorms(const at::Tensor& a, const TokenLayout& layout) {
  std::vector<at::Tensor> norms;
  for (const TokenLayout::Run& run : layout.runs()) norms.push_back(at::linalg_vector_norm(HeadsOfRun(a, run), 2, 2));
  return JoinRuns(std::move(norms), layout.images());
}

at::Tensor MixChannels(const at::Tensor& x, const at::Tensor& matrices, const TokenLayout& layout) {
  std::vector<at::Tensor> mixed;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor of_run = at::matmul(HeadsOfRun(x, run), matrices.narrow(0, run.first_image, run.images));
    mixed.push_back(of_run.transpose(1, 2).reshape({-1, x.size(1) * x.size(2)}));
  }
  return JoinRuns(std::move(mixed), x.size(0));
}

}  // namespace vitrine
