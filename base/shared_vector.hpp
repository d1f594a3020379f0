// A vector that its copies share until one of them is edited: for what is large and copied often.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace forescale {

template <class T>
class SharedVector {
 public:
  std::size_t size() const { return values_->size(); }
  const T& operator[](std::size_t i) const { return (*values_)[i]; }
  auto begin() const { return values_->cbegin(); }
  auto end() const { return values_->cend(); }
  // Of this copy alone. References and iterators taken before may lead to what the others share.
  std::vector<T>& edit() {
    if (values_.use_count() > 1) values_ = std::make_shared<std::vector<T>>(*values_);
    return *values_;
  }

 private:
  std::shared_ptr<std::vector<T>> values_ = std::make_shared<std::vector<T>>();
};

}  // namespace forescale
