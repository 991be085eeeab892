// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_

#include <utility>

namespace vitrine {

// A share of what `Owner` divides, given back exactly once: when this dies, or before. The owner outlives it and has
//   void Release(const Share&);  // the share was used
//   void Cancel(const Share&);   // it is as if it had never been given; where Held::Cancel is called
// neither of which throws. Movable; thread-compatible.
template <typename Owner, typename Share>
class Held {
 public:
  Held() = default;
  Held(Owner* owner, Share share) : owner_(owner), share_(std::move(share)) {}
  Held(Held&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), share_(std::move(other.share_)) {}
  Held& operator=(Held&& other) noexcept {
    if (this == &other) return *this;
    Release();
    owner_ = std::exchange(other.owner_, nullptr);
    share_ = std::move(other.share_);
    return *this;
  }
  ~Held() { Release(); }

  // Early; further calls do nothing.
  void Release() {
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->Release(share_);
  }
  void Cancel() {
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->Cancel(share_);
  }

  const Share* operator->() const { return &share_; }
  // For the owner, which may change what is held. Null: nothing is held.
  Owner* owner() const { return owner_; }
  Share& share() { return share_; }

 private:
  Owner* owner_ = nullptr;  // null: nothing is held
  Share share_ = {};
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_
