// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_
#define VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_

#include <utility>

namespace vitrine {

// A share of a resource. An object of the class `Owner` gives out the shares. Each share is given back exactly once: at
// the destruction of its Held object or earlier. The owner must outlive this object. `Owner` must have two functions,
// which must not throw:
//   void Release(const Share&);  // the share was used
//   void Cancel(const Share&);   // as if the share had never been given
// Movable; thread-compatible.
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

  // Gives the share back early; later calls do nothing.
  void Release() {
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->Release(share_);
  }
  void Cancel() {
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->Cancel(share_);
  }

  const Share* operator->() const { return &share_; }
  // The next two functions allow the owner of the resource to change the share. owner() returns null if this object is
  // empty.
  Owner* owner() const { return owner_; }
  Share& share() { return share_; }

 private:
  Owner* owner_ = nullptr;  // null: the object is empty
  Share share_ = {};
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_SCHEDULING_HELD_H_
