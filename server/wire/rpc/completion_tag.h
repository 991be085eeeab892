// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_WIRE_RPC_COMPLETION_TAG_H_
#define VITRINE_SERVER_WIRE_RPC_COMPLETION_TAG_H_

namespace vitrine {

// What a completion queue hands back when an operation has ended. The thread of the queue calls Complete once for each
// operation that was started with the tag; `ok` is what grpc::CompletionQueue::Next says of that operation.
class CompletionTag {
 public:
  // Must not throw: nobody else would end the call.
  virtual void Complete(bool ok) = 0;

 protected:
  ~CompletionTag() = default;
};

// A tag that calls a member function of its owner, which may delete the owner.
template <typename Owner>
class MemberTag final : public CompletionTag {
 public:
  MemberTag(Owner& owner, void (Owner::*member)(bool)) : owner_(owner), member_(member) {}
  void Complete(bool ok) override { (owner_.*member_)(ok); }

 private:
  Owner& owner_;
  void (Owner::*const member_)(bool);
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_WIRE_RPC_COMPLETION_TAG_H_
