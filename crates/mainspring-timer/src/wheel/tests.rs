mod corrections;
mod model;
mod props;
mod unit;
