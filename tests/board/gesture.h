/* The gestures of examples/11_gesture.c and its model, for gesture_train.c and gesture.c. */
#define main example_main
#include "../../examples/11_gesture.c"
#undef main

enum { WIDTH = 24 };

static tfn_model_desc gesture_desc(void)
{
    tfn_model_desc d = { 0 };
    d.arch = TFN_ARCH_ENCODER;
    d.bands = AXES;
    d.context = T;
    d.frame_map = TFN_FRAME_MAP_LINEAR;
    d.head = TFN_HEAD_SEQUENCE;
    d.classes = GESTURES;
    d.width = WIDTH;
    d.heads = 2;
    d.ffn = 2 * WIDTH;
    d.schedule.lr = 3e-3f;
    return d;
}
