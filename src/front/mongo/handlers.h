/* The functions of commands.def. Inside the face only. */
#ifndef FRONT_MONGO_HANDLERS_H
#define FRONT_MONGO_HANDLERS_H

#include "front/mongo/command.h"

#define COMMAND(word, function, who, traits, sentence) command_handler function;
#define COMMAND_NOT(word, who, traits, sentence)
#include "front/mongo/commands.def"
#undef COMMAND
#undef COMMAND_NOT

#endif
