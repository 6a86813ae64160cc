#pragma once

namespace credbroker::net {

// A link of an intrusive ring. Destroying a node takes it out, so that an object in a list may die at any time.
// The list itself is a node whose ring holds the members. Not copyable, not movable, one thread.
class ListNode {
 public:
  ListNode() = default;
  ListNode(const ListNode&) = delete;
  ListNode& operator=(const ListNode&) = delete;
  ~ListNode() { Unlink(); }

  bool linked() const { return next_ != this; }  // for a list: not empty
  ListNode* next() const { return next_; }

  void Unlink() {
    prev_->next_ = next_;
    next_->prev_ = prev_;
    prev_ = next_ = this;
  }
  // Puts `node`, which is in no list, at the end of the list whose head is this.
  void PushBack(ListNode* node) {
    node->prev_ = prev_;
    node->next_ = this;
    prev_->next_ = node;
    prev_ = node;
  }
  // Moves all members of this list to `other`, which is empty.
  void MoveAllTo(ListNode* other) {
    if (!linked()) return;
    other->next_ = next_;
    other->prev_ = prev_;
    next_->prev_ = other;
    prev_->next_ = other;
    prev_ = next_ = this;
  }

 private:
  ListNode* prev_ = this;
  ListNode* next_ = this;
};

}  // namespace credbroker::net
