# The library as the tests link it: each part of ../tools/source is an object, and one object joins
# them. make -f library.mk NAME=lib FLAGS=... makes build/lib.o. A part named like a file of inside/ is
# compiled within that file, which shows the tests what is private to the part.
source  = ../tools/source
floors  = ground kernels tape model text files hub end
inside  = $(wildcard inside/*.c)
opened  = $(notdir $(inside))
closed  = $(foreach part,$(wildcard $(floors:%=$(source)/%/*.c)),$(if $(filter $(notdir $(part)),$(opened)),,$(part)))
objects = $(closed:$(source)/%.c=build/$(NAME)/%.o) $(inside:%.c=build/$(NAME)/%.o)
compile = $(CC) $(patsubst -O2,-O1,$(CFLAGS)) $(FLAGS) -include lib_config.h -I. -MMD -MP -c $< -o $@

build/$(NAME).o: $(objects)
	@$(CC) -r -nostdlib $(objects) -o $@
build/$(NAME)/inside/%.o: inside/%.c
	@mkdir -p $(@D)
	@$(compile) -DLIB_PARTS
build/$(NAME)/%.o: $(source)/%.c
	@mkdir -p $(@D)
	@$(compile)
-include $(objects:.o=.d)
