#include "cli/command.hpp"

int main(int count, char** arguments) { return forescale::forescale_main(count, arguments); }
