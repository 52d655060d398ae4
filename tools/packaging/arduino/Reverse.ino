/* A Transformer in flash writes words backwards. reverse.c has the model. */
extern "C" const char *reverse(const char *letters);

void setup()
{
    Serial.begin(115200);
}

void loop()
{
    static const char *const words[] = { "bead", "face", "cab", "hgfe" };     /* letters a to h */
    static int next = 0;
    Serial.print(words[next]);
    Serial.print(" backwards: ");
    Serial.println(reverse(words[next]));
    next = (next + 1) % 4;
    delay(1000);
}
