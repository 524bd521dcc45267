mod loom;
