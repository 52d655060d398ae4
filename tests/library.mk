# The library for tests: each part of ../tools/source is an object, and one object joins
# them. make -f library.mk NAME=lib FLAGS=... makes build/lib.o. A part with the name of a file in inside/ is
# compiled inside that file, which gives tests access to the part's private functions. The kernels are an
# object per instruction set, the slowest first, so that all cores share them.
source  = ../tools/source
floors  = ground kernels tape model text files hub end
inside  = $(wildcard inside/*.c)
opened  = $(notdir $(inside))
sets    = AVX512 AVX2 FMA128 SSE2 PLAIN
bodies  = instances integer_sets
kernels = $(filter-out build/$(NAME)/kernels/instances-PLAIN.o,$(foreach set,$(sets),$(bodies:%=build/$(NAME)/kernels/%-$(set).o)))
closed  = $(filter-out $(opened:%=\%/%) $(bodies:%=\%/%.c),$(wildcard $(floors:%=$(source)/%/*.c)))
objects = $(kernels) $(inside:%.c=build/$(NAME)/%.o) $(closed:$(source)/%.c=build/$(NAME)/%.o)
# BASE=lib: only objects that TFNORM_EXACT changes are compiled anew, the others are those of build/lib.
changed = math.o shared.o instances.o instances-SSE2.o
ifdef BASE
objects := $(foreach o,$(objects),$(if $(filter $(changed),$(notdir $o)),$o,$(o:build/$(NAME)/%=build/$(BASE)/%)))
endif
compile = $(CC) $(patsubst -O2,-O1,$(CFLAGS)) $(FLAGS) -include lib_config.h -I. -MMD -MP -c $< -o $@
one_set = -DTFN__ONE_SET -DTFN__BUILD_

build/$(NAME).o: $(objects)
	@$(CC) -r -nostdlib $(objects) -o $@
build/$(NAME)/inside/%.o: inside/%.c
	@mkdir -p $(@D)
	@$(compile) -DLIB_PARTS $(if $(filter instances,$*),$(one_set)PLAIN)
$(sets:%=build/$(NAME)/kernels/instances-%.o): build/$(NAME)/kernels/instances-%.o: $(source)/kernels/instances.c
	@mkdir -p $(@D)
	@$(compile) $(one_set)$*
$(sets:%=build/$(NAME)/kernels/integer_sets-%.o): build/$(NAME)/kernels/integer_sets-%.o: $(source)/kernels/integer_sets.c
	@mkdir -p $(@D)
	@$(compile) $(one_set)$*
build/$(NAME)/%.o: $(source)/%.c
	@mkdir -p $(@D)
	@$(compile)
-include $(objects:.o=.d)
