// The actions of a thread, in order. A traced step has millions: they are kept packed, some 20
// bytes each, and copies (ranks that do the same) share them until one is changed.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <string>

#include "traces/program/action.hpp"

namespace forescale {

struct LabelledKernel {
  const std::string& label;
  double duration_s;
  const KernelWork* work;  // null: not known
};

class ActionList {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Action;
    using difference_type = std::ptrdiff_t;
    using pointer = const Action*;
    using reference = Action;

    Iterator(const ActionList& list, std::size_t at) : list_(&list), at_(at) {}
    Action operator*() const { return (*list_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*list_, at_++}; }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const ActionList* list_;
    std::size_t at_;
  };

  void push_back(const Action& action);
  // Gives every kernel another duration.
  void scale_kernels(const std::function<double(const LabelledKernel&)>& scaled_s);

  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Action operator[](std::size_t at) const;
  Action front() const { return (*this)[0]; }
  Action back() const { return (*this)[size() - 1]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }
  // Equal for lists that are one in memory, as copies are until one is changed.
  const void* identity() const { return packed_.get(); }

 private:
  struct Packed;
  Packed& own();  // not shared with a copy

  std::shared_ptr<Packed> packed_;  // null: empty
};

}  // namespace forescale
