// Testbench of axis_fifo: messages come out as they went in.
#include "pass_through.hpp"

int main(int count, char** words) {
  return tb::pass_through_main(count, words, P_WIDTH / 8, P_WIDTH / 8);
}
